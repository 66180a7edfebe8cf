import { type ErrorCode, show, warn } from '@tidegate/core'
import type { ProxyWarnings } from '../address/client-ip.js'
import type { LimitDecision } from './checker.js'
import type { MountedRule } from './mounted-rules.js'

/*
 * Warnings about likely misuse: requests that pass uncounted or count twice although nothing fails. Each is written
 * once per middleware, with a code.
 */

export interface MisuseWarnings extends ProxyWarnings {
  /** A request had no key, so nothing counted it. */
  reportKeyUndefined(): void
  /** A request was counted by these limits. */
  recordCheck(request: object, limits: readonly LimitDecision[]): void
  /** The middleware was called. */
  recordCall(): void
  /** A rule cannot match, because its path is written without the mount path. Called once for each rule. */
  reportRuleMounted(rule: MountedRule): void
  /** `refundWhen` has returned this value. */
  checkRefundWhen(value: unknown): void
  /** A refund failed, because `refundWhen` threw or the store cannot refund. */
  reportRefundFailed(error: unknown): void
}

/**
 * The warnings of one middleware. `name` is its name in messages, such as `rateLimit()`; `storeIdentity` identifies its
 * counts; `isLazy` is true if the library creates the middleware at the first request.
 */
export function createMisuseWarnings(name: string, storeIdentity: object, isLazy: boolean): MisuseWarnings {
  const reportedCodes = new Set<string>()
  const usage = { calls: 0 }
  let isNew = !isLazy && !lastChecks.has(storeIdentity)
  const last = lastChecks.get(storeIdentity) ?? { request: undefined, limits: [] }
  lastChecks.set(storeIdentity, last)
  /** Misuse appears early, so later requests are not inspected. */
  let inspectionsLeft = 10_000
  // The end of the current turn comes before any request.
  Promise.resolve().then(() => {
    isNew = false
  })

  function warnOnce(code: ErrorCode, message: string): void {
    if (reportedCodes.has(code)) return
    reportedCodes.add(code)
    warn(code, `${name}: ${message}`)
  }

  return {
    reportKeyUndefined() {
      warnOnce(
        'KEY_UNDEFINED',
        "a request has no key, so nothing counted it. End the key in a part that every request has, such as '{header.x-user-id | ip}', or skip such requests with `skip`.",
      )
    },

    reportForwardedUntrusted(facts) {
      if (inspectionsLeft === 0) return
      const header = FORWARDING_HEADERS.find((one) => facts.header(one) !== undefined)
      if (header === undefined) return
      warnOnce(
        'PROXY_UNTRUSTED',
        `a request has the header ${header}, and no proxy is trusted. Behind a proxy, all clients would share one limit: write \`proxies: { hops: 1 }\`, or the addresses of your proxies in \`proxies: { trusted: […] }\`. Without a proxy, a client forged the header, and nothing is wrong.`,
      )
    },

    reportProxiesGuessed(facts) {
      if (inspectionsLeft === 0 || facts.header('x-forwarded-for')?.includes(',') !== true) return
      warnOnce(
        'PROXY_UNTRUSTED',
        'the framework trusts every proxy, so a client could choose its own address. The last entry of X-Forwarded-For was used, as with one proxy. Write how many proxies are in front, for example `proxies: { hops: 2 }`.',
      )
    },

    recordCheck(request, limits) {
      if (inspectionsLeft === 0) return
      if (--inspectionsLeft === 0) {
        // Release the request for garbage collection.
        last.request = undefined
        return
      }
      if (last.request !== request) {
        last.request = request
        last.limits = limits
        return
      }
      const repeatedLimit = limits.find(({ key, decision: { policy } }) =>
        last.limits.some((other) => other.key === key && other.decision.policy === policy),
      )
      if (repeatedLimit === undefined) {
        last.limits = [...last.limits, ...limits]
        return
      }
      warnOnce(
        'COUNTED_TWICE',
        `a request was counted twice by "${repeatedLimit.decision.policy}" under one key. Use the limiter once on the way to a handler, or give the second one its own policy.`,
      )
    },

    reportRuleMounted({ rule, pattern, mount, path }) {
      const whole = pattern === '/' ? mount : `${mount}${pattern}`
      warn(
        'RULE_UNREACHABLE',
        `${name}: the rule ${show(rule)} matches ${show(pattern)}, but this middleware is mounted at ${show(mount)} and sees ${show(path)}, so nothing is counted. Write match: { path: ${show(whole)} }.`,
      )
    },

    reportRefundFailed(error) {
      warnOnce('REFUND_INVALID', `a refund failed, although refundWhen is set: ${show(String(error))}.`)
    },

    checkRefundWhen(value) {
      if (typeof value === 'boolean') return
      const effect = value ? 'counts as true' : 'counts as false'
      warnOnce(
        'REFUND_INVALID',
        `refundWhen must return true or false, got ${show(value)}, which ${effect}. It is called with the status of the response, for example refundWhen: (status) => status >= 500.`,
      )
    },

    recordCall() {
      usage.calls++
      if (!isNew) return
      isNew = false
      if (newest.calls > 1) newInARow = 0
      newest = usage
      if (++newInARow !== TOO_MANY_NEW) return
      warnOnce(
        'LIMITER_IN_HANDLER',
        'it was created while a request was being handled, and so were those before it. A limiter that is created for each request never denies: create it once, when the program starts. For limits that differ by client, use `policy: (request) => …`.',
      )
    },
  }
}

/** For `warnings: false`. */
export const NO_WARNINGS: MisuseWarnings = {
  reportKeyUndefined() {},
  reportForwardedUntrusted() {},
  reportProxiesGuessed() {},
  recordCheck() {},
  recordCall() {},
  reportRuleMounted() {},
  checkRefundWhen() {},
  reportRefundFailed() {},
}

/**
 * The last request that each limiter or store checked. Remembering every request would cost more than the check.
 */
const lastChecks = new WeakMap<object, LastCheck>()

interface LastCheck {
  request: object | undefined
  limits: readonly LimitDecision[]
}

const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded']

/**
 * The newest middleware that was called in the turn that created it, and how many of these in a row were called only
 * once. Tests, and middleware that is created at its first use, account for a few.
 */
let newest = { calls: 0 }
let newInARow = 0
const TOO_MANY_NEW = 10
