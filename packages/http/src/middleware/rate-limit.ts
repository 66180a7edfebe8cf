import { optionInvalid, show, TidegateError } from '@tidegate/core'
import { defineFindIp, type FindIp } from '../address/client-ip.js'
import type { RequestFacts } from '../request.js'
import { deniedResponse, prefersProblem, unavailableResponse } from '../response/error-response.js'
import { longestWait, lowerCaseHeaders, mostRestrictive } from '../response/headers.js'
import { asError } from './as-error.js'
import type { CheckResult } from './checker.js'
import { defineChecker } from './define-checker.js'
import { defineListener } from './listeners.js'
import { createMisuseWarnings, NO_WARNINGS } from './misuse-warnings.js'
import type { MountedRule } from './mounted-rules.js'
import type { PolicyUse } from './policy-use.js'
import {
  assertFits,
  assertRateLimitOptions,
  LONGEST_HOLD_MS,
  type RateLimitEvent,
  type RateLimitOptions,
} from './rate-limit-options.js'

/*
 * The part of middleware that does not depend on the framework:
 *
 *   skip? -> key -> cost -> decision -> headers -> pass, hold or deny
 */

/** Reads a framework's request. */
export interface RequestReader<Request> {
  /**
   * Returns the facts of a request. `rest` are the other arguments of the handler. Must read the connection's address
   * immediately, because it is lost when the client disconnects.
   */
  facts(request: Request, findIp: FindIp, rest: readonly unknown[]): RequestFacts
  /** Returns an object that is the same in every middleware of a request. */
  identity(request: Request, rest: readonly unknown[]): object
}

/** The framework-independent part of a middleware: see `defineRateLimit`. */
export interface RequestLimiter<Request> {
  /** Checks a request. Rejects with errors of the user's functions. */
  check(request: Request, rest?: readonly unknown[]): Promise<RequestOutcome<Request>>
}

/** The outcome of a request, which the framework's middleware applies. */
export interface RequestOutcome<Request> {
  /** Whether the client disconnected before the request could be counted. Such a request must not run. */
  readonly isGone: boolean
  /** The denial; undefined if the request passes. */
  readonly denial: DeniedRequest<Request> | undefined
  /** The headers to set on every response. */
  readonly headers: Readonly<Record<string, string>>
  /** How long to hold the request before it passes. */
  readonly holdMs: number
  /** Returns the refund for a response with this status, to call once the whole response is sent. */
  readonly refundFor: ((status: number) => (() => void) | undefined) | undefined
  /** Releases the slots of the request. Call it when the request ends for any reason. It can be called repeatedly. */
  readonly release: (() => Promise<void>) | undefined
}

/** A denied request and its default response. */
export interface DeniedRequest<Request> {
  readonly event: RateLimitEvent<Request>
  readonly status: number
  /** Returns the response for users without a `handler`. */
  defaultResponse(): { readonly contentType: string; readonly body: string | object }
}

/** The part of a middleware that depends on the framework. */
export interface FrameworkAdapter<Request> {
  reader: RequestReader<Request>
  /** The name of the middleware in messages: `rateLimit()`. */
  name: string
  /** The names of the additional options of this framework. */
  optionNames: readonly string[]
  /** Whether the library creates the middleware at the first request. Default: false. */
  isLazy?: boolean
  /** The user of unnamed policies. Default: this middleware. */
  use?: PolicyUse
}

/**
 * Creates the framework-independent part of a middleware. Use it to support another framework: apply the outcome of
 * `check` to the framework's response.
 *
 * @example
 * ```ts
 * const { check } = defineRateLimit(options, { name: 'rateLimit()', optionNames: [], reader })
 * const { denial, headers } = await check(request)
 * ```
 */
export function defineRateLimit<Request>(
  options: RateLimitOptions<Request>,
  { reader, name, optionNames, isLazy = false, use = { user: {} } }: FrameworkAdapter<Request>,
): RequestLimiter<Request> {
  assertRateLimitOptions(name, options, optionNames)
  const { skip, enforce = true, queue = false, refundWhen } = options
  const { standards = ['legacy', 'draft-10'], format = 'accept', status = 429, body } = options
  const checker = defineChecker(options, use, reportKeyUndefined, reportRuleMounted)
  const warnings =
    options.warnings === false ? NO_WARNINGS : createMisuseWarnings(name, checker.storeIdentity, isLazy)
  assertFits(options, checker.policies, checker.refund !== undefined)
  const onDecision = defineListener(`onDecision of ${name}`, options.onDecision)
  const onDenied = defineListener(`onDenied of ${name}`, options.onDenied)
  const lookUpIp = defineFindIp(options.proxies, warnings)
  const withoutAddress = new WeakSet<object>()

  const findIp: FindIp = (peer, facts, framework) => {
    const ip = lookUpIp(peer, facts, framework)
    if (ip === undefined) withoutAddress.add(facts)
    return ip
  }

  function reportKeyUndefined(facts: RequestFacts): void {
    if (withoutAddress.has(facts) && facts.isGone !== true)
      throw addressUnknown(name, optionNames.includes('peer'))
    warnings.reportKeyUndefined()
  }

  function reportRuleMounted(rule: MountedRule): void {
    warnings.reportRuleMounted(rule)
  }

  function outcomeOf(request: Request, facts: RequestFacts, result: CheckResult): RequestOutcome<Request> {
    const { allowed, limits, delayMs } = result
    const headers = lowerCaseHeaders(limits, standards)
    if (!allowed || onDecision !== undefined) {
      const isUnavailable = !allowed && limits.some(({ decision }) => decision.degraded === 'closed')
      const event: RateLimitEvent<Request> = {
        request,
        allowed,
        decision: mostRestrictive(limits).decision,
        limits,
        status: isUnavailable ? 503 : status,
      }
      onDecision?.(event)
      if (!allowed) onDenied?.(event)
      if (!allowed && enforce) {
        headers['cache-control'] = 'no-store'
        const defaultResponse = () => responseTo(event, facts, isUnavailable)
        return { ...PASS, denial: { event, status: event.status, defaultResponse }, headers }
      }
    }
    if (!enforce) {
      headers['x-ratelimit-dry-run'] = allowed ? 'allowed' : 'denied'
      // The request passes, so the client does not have to wait.
      delete headers['retry-after']
    }
    return {
      isGone: false,
      denial: undefined,
      headers,
      holdMs: queue && enforce ? Math.min(Math.ceil(delayMs), LONGEST_HOLD_MS) : 0,
      refundFor: refundWhen === undefined || !allowed ? undefined : (status) => refundOf(result, status),
      release: result.release,
    }
  }

  function responseTo(event: RateLimitEvent<Request>, facts: RequestFacts, isUnavailable: boolean) {
    const ownBody = typeof body === 'function' ? body(event) : isUnavailable ? undefined : body
    if (typeof (ownBody as Promise<unknown> | undefined)?.then === 'function') {
      const message = `body must return a string or an object, not a promise, got ${show(ownBody)}. Use handler for an asynchronous response.`
      throw optionInvalid('body', message)
    }
    if (typeof ownBody === 'string') return { contentType: 'text/plain; charset=utf-8', body: ownBody }
    if (ownBody !== undefined) return { contentType: 'application/json', body: ownBody }
    const bodyFormat =
      format === 'accept' ? (prefersProblem(facts.header('accept')) ? 'problem' : 'plain') : format
    const responseOptions = { format: bodyFormat, instance: facts.path }
    if (isUnavailable)
      return unavailableResponse({ ...responseOptions, retryAfterSeconds: longestWait(event.limits) })
    const response = deniedResponse(event.limits, responseOptions)
    return bodyFormat === 'plain' ? response : { ...response, body: { ...response.body, status } }
  }

  /** The refund for a response with this status, if there is one. */
  function refundOf(result: CheckResult, status: number): (() => void) | undefined {
    let isDue: unknown
    try {
      isDue = refundWhen!(status)
    } catch (error) {
      warnings.reportRefundFailed(error)
      return undefined
    }
    const isPromise = typeof (isDue as Promise<unknown> | undefined)?.then === 'function'
    if (!isPromise) warnings.checkRefundWhen(isDue)
    if (!isDue) return undefined
    if (!isPromise) return () => void refund(result)
    // Rejections are handled now, because the response may take longer than the promise.
    const due = Promise.resolve(isDue).then((value) => {
      warnings.checkRefundWhen(value)
      return value
    }, warnings.reportRefundFailed)
    return async () => {
      if (await due) await refund(result)
    }
  }

  /** Refunds after the response was sent. Store failures are ignored, because the units expire anyway. */
  async function refund(result: CheckResult): Promise<void> {
    try {
      await checker.refund!(result)
    } catch (error) {
      if (error instanceof TidegateError && error.code === 'REFUND_INVALID')
        warnings.reportRefundFailed(error)
    }
  }

  return {
    async check(request, rest = NO_ARGUMENTS) {
      warnings.recordCall()
      try {
        const facts = reader.facts(request, findIp, rest)
        if (skip !== undefined && (await skip(request))) return PASS
        const result = await checker.check(request, facts)
        if (result === undefined) return facts.isGone === true ? DISCONNECTED : PASS
        try {
          warnings.recordCheck(reader.identity(request, rest), result.limits)
          return outcomeOf(request, facts, result)
        } catch (error) {
          void result.release?.()
          throw error
        }
      } catch (error) {
        throw asError(error)
      }
    },
  }
}

const NO_ARGUMENTS: readonly unknown[] = []

/** The outcome of a request that no limit counts. */
const PASS = Object.freeze({
  isGone: false,
  denial: undefined,
  headers: Object.freeze({}),
  holdMs: 0,
  refundFor: undefined,
  release: undefined,
})

/** The outcome for a disconnected client that could not be counted: letting it pass would bypass the limit. */
const DISCONNECTED = Object.freeze({ ...PASS, isGone: true })

function addressUnknown(name: string, hasPeer: boolean): TidegateError {
  const source = hasPeer
    ? "This runtime does not pass the client's address. Write a peer function that reads a header of your platform, for example peer: (request) => request.headers.get('x-real-ip'); or proxies: { hops: 1 } behind one proxy that sets X-Forwarded-For"
    : 'The connection has no address, as on a Unix socket. Write proxies: { hops: 1 } if the proxy in front sets X-Forwarded-For'
  return new TidegateError(
    'ADDRESS_UNKNOWN',
    `${name}: the key needs the client's address, which is unknown. ${source}; or use another key, for example key: 'user:{header.x-user-id}'.`,
    { field: hasPeer ? 'peer' : 'proxies' },
  )
}
