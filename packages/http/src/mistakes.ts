import { type ErrorCode, errorDocs, show } from '@tidegate/core'
import type { LimitCounted } from './counted.js'
import type { RequestFacts } from './request.js'

/*
 * Mistakes that let requests through, or count them twice, without anything failing. Each is said once, with
 * a code, and nothing else changes.
 */

type HeaderFacts = Pick<RequestFacts, 'header'>

export interface Mistakes {
  /** A request had no key, and was counted by nothing. */
  keyUndefined(): void
  /** A request named other clients, and no proxy is trusted. */
  forwardedUntrusted(facts: HeaderFacts): void
  /** A request was counted by these. */
  counted(request: object, limits: readonly LimitCounted[]): void
  /** The middleware is called. */
  called(): void
  /** Nothing was given back, because `refundWhen` threw or the store cannot. */
  refundFailed(error: unknown): void
}

/**
 * Watches over one middleware. `of` is how users know it: `rateLimit()`; `by` is where it counts; made late is what
 * we make ourselves at the first request.
 */
export function watchMistakes(of: string, by: object, isMadeLate: boolean): Mistakes {
  const said = new Set<ErrorCode>()
  const own = { calls: 0 }
  let isNew = !isMadeLate && !lastCounted.has(by)
  const last = lastCounted.get(by) ?? { request: undefined, limits: [] }
  lastCounted.set(by, last)
  /** A mistake shows early. What has gone well for so long is not looked at any more, and costs nothing. */
  let looksLeft = 10_000
  // When the turn is over in which it was made: before any request can come in.
  Promise.resolve().then(() => {
    isNew = false
  })

  function say(code: ErrorCode, message: string): void {
    if (said.has(code)) return
    said.add(code)
    warn(code, `${of}: ${message}`)
  }

  return {
    keyUndefined() {
      say(
        'KEY_UNDEFINED',
        "a request has no key, so nothing counted it. End the key in something that every request has, such as '{header.x-user-id | ip}', or skip such requests with `skip`.",
      )
    },

    forwardedUntrusted(facts) {
      if (looksLeft === 0) return
      const name = FORWARDED.find((one) => facts.header(one) !== undefined)
      if (name === undefined) return
      say(
        'PROXY_UNTRUSTED',
        `a request has the header ${name}, and no proxy is trusted. If there is a proxy in front, all its clients count as one: write its address in \`proxies: { trusted: […] }\`. If there is none, somebody made the header up, and nothing is wrong.`,
      )
    },

    counted(request, limits) {
      if (looksLeft === 0) return
      if (--looksLeft === 0) {
        // It is not to be kept for ever.
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
      say(
        'COUNTED_TWICE',
        `a request was counted twice by "${twice.decision.policy}" under one key. Use it once on the way to a handler, or give the second its own policy.`,
      )
    },

    refundFailed(error) {
      say('REFUND_INVALID', `nothing was given back, though refundWhen is set: ${show(String(error))}.`)
    },

    called() {
      own.calls++
      if (!isNew) return
      isNew = false
      if (newest.calls > 1) newInARow = 0
      newest = own
      if (++newInARow !== TOO_MANY_NEW) return
      say(
        'LIMITER_IN_HANDLER',
        'it was made while a request was being handled, and so were those before it. A limiter that is new for each request never refuses: make it once, when the program starts. For limits that differ by client, use `policy: (request) => …`.',
      )
    },
  }
}

/** For whoever has turned it off. */
export const NO_MISTAKES: Mistakes = {
  keyUndefined() {},
  forwardedUntrusted() {},
  counted() {},
  called() {},
  refundFailed() {},
}

/**
 * The request that was counted last, by limiter or store, and by what. Only the last: a note on every request
 * would cost more than the check itself, and what counts twice mostly does so at once.
 */
const lastCounted = new WeakMap<object, LastCounted>()

interface LastCounted {
  request: object | undefined
  limits: readonly LimitCounted[]
}

const FORWARDED = ['x-forwarded-for', 'forwarded']

/**
 * Of those that were called as soon as they were made, the newest, and how many there were in a row that were not
 * called again before the next. A few are tests, or made when they are first needed and kept.
 */
let newest = { calls: 0 }
let newInARow = 0
const TOO_MANY_NEW = 10

function warn(code: ErrorCode, message: string): void {
  const text = `${message} See ${errorDocs(code)}`
  const { process, console } = globalThis as unknown as Host
  if (typeof process?.emitWarning === 'function') process.emitWarning(text, { type: 'TidegateWarning', code })
  else console?.warn(`TidegateWarning [${code}]: ${text}`)
}

/** What runtimes have for it, none of them in the language. */
interface Host {
  process?: { emitWarning?: (message: string, options: { type: string; code: string }) => void }
  console?: { warn(message: string): void }
}
