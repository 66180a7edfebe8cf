import { type ErrorCode, errorDocs, show } from '@tidegate/core'
import type { LimitCounted } from './counted.js'
import type { RequestFacts } from './request.js'

/*
 * Warnings about likely misuse: requests that pass uncounted or count twice although nothing fails. Each is written
 * once per middleware, with a code.
 */

type HeaderFacts = Pick<RequestFacts, 'header'>

export interface Misuse {
  /** A request had no key, so nothing counted it. */
  keyUndefined(): void
  /** A request has a forwarding header, and no proxy is trusted. */
  forwardedUntrusted(facts: HeaderFacts): void
  /** The framework trusts every proxy, so the number of proxies was guessed. */
  proxiesGuessed(facts: HeaderFacts): void
  /** A request was counted by these limits. */
  counted(request: object, limits: readonly LimitCounted[]): void
  /** The middleware was called. */
  called(): void
  /** A refund failed, because `refundWhen` threw or the store cannot refund. */
  refundFailed(error: unknown): void
}

/**
 * Watches one middleware. `name` is the name in messages: `rateLimit()`; `by` is where it counts; `isMadeLate` says that
 * the library creates it at the first request.
 */
export function watchMisuse(name: string, by: object, isMadeLate: boolean): Misuse {
  const written = new Set<string>()
  const own = { calls: 0 }
  let isNew = !isMadeLate && !lastCounted.has(by)
  const last = lastCounted.get(by) ?? { request: undefined, limits: [] }
  lastCounted.set(by, last)
  /** Misuse shows early, so later requests are not inspected. */
  let looksLeft = 10_000
  // The end of the current turn comes before any request.
  Promise.resolve().then(() => {
    isNew = false
  })

  function warnOnce(code: ErrorCode, message: string): void {
    if (written.has(code)) return
    written.add(code)
    warn(code, `${name}: ${message}`)
  }

  return {
    keyUndefined() {
      warnOnce(
        'KEY_UNDEFINED',
        "a request has no key, so nothing counted it. End the key in a part that every request has, such as '{header.x-user-id | ip}', or skip such requests with `skip`.",
      )
    },

    forwardedUntrusted(facts) {
      if (looksLeft === 0) return
      const header = FORWARDED.find((one) => facts.header(one) !== undefined)
      if (header === undefined) return
      warnOnce(
        'PROXY_UNTRUSTED',
        `a request has the header ${header}, and no proxy is trusted. Behind a proxy, all clients would share one limit: write \`proxies: { hops: 1 }\`, or the addresses of your proxies in \`proxies: { trusted: […] }\`. Without a proxy, a client forged the header, and nothing is wrong.`,
      )
    },

    proxiesGuessed(facts) {
      if (looksLeft === 0 || facts.header('x-forwarded-for')?.includes(',') !== true) return
      warnOnce(
        'PROXY_UNTRUSTED',
        'the framework trusts every proxy, so a client could choose its own address. The last entry of X-Forwarded-For was used, as with one proxy. Write how many proxies are in front, for example `proxies: { hops: 2 }`.',
      )
    },

    counted(request, limits) {
      if (looksLeft === 0) return
      if (--looksLeft === 0) {
        // Release the request for garbage collection.
        last.request = undefined
        return
      }
      if (last.request !== request) {
        last.request = request
        last.limits = limits
        return
      }
      const twice = limits.find(({ key, decision: { policy } }) =>
        last.limits.some((other) => other.key === key && other.decision.policy === policy),
      )
      if (twice === undefined) {
        last.limits = [...last.limits, ...limits]
        return
      }
      warnOnce(
        'COUNTED_TWICE',
        `a request was counted twice by "${twice.decision.policy}" under one key. Use the limiter once on the way to a handler, or give the second one its own policy.`,
      )
    },

    refundFailed(error) {
      warnOnce('REFUND_INVALID', `a refund failed, although refundWhen is set: ${show(String(error))}.`)
    },

    called() {
      own.calls++
      if (!isNew) return
      isNew = false
      if (newest.calls > 1) newInARow = 0
      newest = own
      if (++newInARow !== TOO_MANY_NEW) return
      warnOnce(
        'LIMITER_IN_HANDLER',
        'it was created while a request was being handled, and so were those before it. A limiter that is created for each request never denies: create it once, when the program starts. For limits that differ by client, use `policy: (request) => …`.',
      )
    },
  }
}

/** For `warnings: false`. */
export const NO_MISUSE: Misuse = {
  keyUndefined() {},
  forwardedUntrusted() {},
  proxiesGuessed() {},
  counted() {},
  called() {},
  refundFailed() {},
}

/**
 * The request that each limiter or store counted last. Only the last one, because a note on every request would cost more
 * than the check.
 */
const lastCounted = new WeakMap<object, LastCounted>()

interface LastCounted {
  request: object | undefined
  limits: readonly LimitCounted[]
}

const FORWARDED = ['x-forwarded-for', 'forwarded']

/**
 * The newest middleware that was called in the turn that created it, and how many of these in a row were called only
 * once. Tests, and middleware that is created at its first use, account for a few.
 */
let newest = { calls: 0 }
let newInARow = 0
const TOO_MANY_NEW = 10

/** Writes a warning of the process, or to the console on other runtimes. */
export function warn(code: ErrorCode, message: string): void {
  const text = `${message} See ${errorDocs(code)}`
  const { process, console } = globalThis as unknown as Host
  if (typeof process?.emitWarning === 'function') process.emitWarning(text, { type: 'TidegateWarning', code })
  else console?.warn(`TidegateWarning [${code}]: ${text}`)
}

/** Globals that are not part of the language. */
interface Host {
  process?: { emitWarning?: (message: string, options: { type: string; code: string }) => void }
  console?: { warn(message: string): void }
}
