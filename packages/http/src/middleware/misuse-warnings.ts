import { type ErrorCode, show, warn } from '@tidegate/core'
import type { ProxyWarnings } from '../address/client-ip.js'
import type { LimitDecision } from './checker.js'
import type { MountedRule } from './mounted-rules.js'

/*
 * Warnings about likely misuse, such as requests that pass uncounted or are counted twice. Each code is printed once per
 * middleware.
 */

export interface MisuseWarnings extends ProxyWarnings {
  /** Reports a request without a key, which is not counted. */
  reportKeyUndefined(): void
  /** Records that a request was counted by these limits. */
  recordCheck(request: object, limits: readonly LimitDecision[]): void
  /** Records a call of the middleware. */
  recordCall(): void
  /** Reports a rule that cannot match, because its path lacks the mount path. Called once for each rule. */
  reportRuleMounted(rule: MountedRule): void
  /** Reports a value that `refundWhen` returned, unless it is true or false. */
  checkRefundWhen(value: unknown): void
  /** Reports a failed refund, because `refundWhen` threw or the store cannot refund. */
  reportRefundFailed(error: unknown): void
}

/**
 * Creates the warnings of one middleware. `name` is its name in messages, such as `rateLimit()`; `storeIdentity` identifies
 * its counts; `isLazy` is true if the library creates the middleware at the first request.
 */
export function createMisuseWarnings(name: string, storeIdentity: object, isLazy: boolean): MisuseWarnings {
  const reportedCodes = new Set<string>()
  const usage = { calls: 0 }
  let isNew = !isLazy && !lastChecks.has(storeIdentity)
  const last = lastChecks.get(storeIdentity) ?? { request: undefined, limits: [] }
  lastChecks.set(storeIdentity, last)
  /** Misuse appears early, so later requests are not inspected. */
  let inspectionsLeft = 10_000
  // Runs at the end of the current turn, before any request.
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
        "a request has no key, so it was not counted. End the key with a part that every request has, such as '{header.x-user-id | ip}', or exclude such requests with `skip`.",
      )
    },

    reportForwardedUntrusted(facts) {
      if (inspectionsLeft === 0) return
      const header = FORWARDING_HEADERS.find((one) => facts.header(one) !== undefined)
      if (header === undefined) return
      warnOnce(
        'PROXY_UNTRUSTED',
        `a request has the header ${header}, and no proxy is trusted. Behind a proxy, all clients would share one limit: write \`proxies: { hops: 1 }\`, or the addresses of your proxies in \`proxies: { trusted: […] }\`. Without a proxy, a client has forged the header, and you can ignore this warning.`,
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
      warnOnce(
        'REFUND_INVALID',
        `a refund by refundWhen failed, so its units stay charged: ${show(String(error))}.`,
      )
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
        'it was created in a request handler, several times in a row. A limiter that is created for each request never denies. Create it once, when the program starts. For limits that depend on the client, use `policy: (request) => …`.',
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
 * The last request that each limiter or store has checked. Only the last, because tracking all would cost more than a check.
 */
const lastChecks = new WeakMap<object, LastCheck>()

interface LastCheck {
  request: object | undefined
  limits: readonly LimitDecision[]
}

const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded']

/**
 * The newest middleware that was called in the turn that created it, and how many of these in a row were called only once.
 * A few are normal, for example in tests.
 */
let newest = { calls: 0 }
let newInARow = 0
const TOO_MANY_NEW = 10
