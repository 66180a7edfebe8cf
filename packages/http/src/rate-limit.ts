import { show, TidegateError } from '@tidegate/core'
import { prefersProblem, refusal, unavailable } from './answers.js'
import { defineFindIp, type FindIp } from './client-ip.js'
import type { Counted } from './counted.js'
import { defineCounting } from './counting.js'
import { longestWait, lowerCaseHeaders, shown } from './headers.js'
import { defineListener } from './listeners.js'
import { NO_MISUSE, watchMisuse } from './misuse.js'
import type { PolicyUse } from './policy-use.js'
import {
  assertFits,
  assertRateLimitOptions,
  LONGEST_HOLD_MS,
  type RateLimitEvent,
  type RateLimitOptions,
} from './rate-limit-options.js'
import type { RequestFacts } from './request.js'
import { asError } from './thrown.js'

/*
 * Everything that middleware does, except for talking to the framework:
 *
 *   skip? -> key -> cost -> decision -> headers -> pass, hold or deny
 */

/** Reads a framework's request. */
export interface Reader<Request> {
  /** `rest` came with the request. Must read the connection's address at once: it is lost when the client disconnects. */
  facts(request: Request, findIp: FindIp, rest: readonly unknown[]): RequestFacts
  /** An object that is the same for every middleware that sees this request. */
  identity(request: Request, rest: readonly unknown[]): object
}

export interface RateLimit<Request> {
  /** Decides about a request. Rejects with the errors of the user's functions. */
  decide(request: Request, rest?: readonly unknown[]): Promise<Ruling<Request>>
}

/** The decision about one request, ready for a framework. */
export interface Ruling<Request> {
  /** The client disconnected before its key was known. Nothing counted the request, so it must not run. */
  readonly isGone: boolean
  /** Undefined if the request may pass. */
  readonly refusal: Refusal<Request> | undefined
  /** To be set on every response. */
  readonly headers: Readonly<Record<string, string>>
  /** How long to hold the request before it passes. */
  readonly holdMs: number
  /** Takes the status of the response and returns what to do once the whole response is sent. */
  readonly atEnd: ((status: number) => (() => void) | undefined) | undefined
}

export interface Refusal<Request> {
  readonly event: RateLimitEvent<Request>
  readonly status: number
  /** The default response. */
  answer(): { readonly contentType: string; readonly body: string | object }
}

/** What a framework adds. */
export interface Addition<Request> {
  reader: Reader<Request>
  /** The name of the middleware in messages: `rateLimit()`. */
  name: string
  /** The options that only this framework has. */
  options: readonly string[]
  /** Whether the library creates it at the first request. Default: false. */
  isMadeLate?: boolean
  /** Where unnamed policies are used. Default: by this middleware only. */
  use?: PolicyUse
}

export function defineRateLimit<Request>(
  options: RateLimitOptions<Request>,
  { reader, name, options: more, isMadeLate = false, use = { user: {} } }: Addition<Request>,
): RateLimit<Request> {
  assertRateLimitOptions(name, options, more)
  const { skip, enforce = true, queue = false, refundWhen } = options
  const { standards = ['legacy', 'draft-10'], format = 'accept', status = 429, body } = options
  const counting = defineCounting(options, use, keyUndefined)
  const misuse = options.warnings === false ? NO_MISUSE : watchMisuse(name, counting.by, isMadeLate)
  assertFits(options, counting.policies, counting.refund !== undefined)
  const onDecision = defineListener(`onDecision of ${name}`, options.onDecision)
  const onDenied = defineListener(`onDenied of ${name}`, options.onDenied)
  const lookUpIp = defineFindIp(options.proxies, misuse)
  const withoutAddress = new WeakSet<object>()

  const findIp: FindIp = (peer, facts, framework) => {
    const ip = lookUpIp(peer, facts, framework)
    if (ip === undefined) withoutAddress.add(facts)
    return ip
  }

  function keyUndefined(facts: RequestFacts): void {
    if (withoutAddress.has(facts) && facts.isGone !== true) throw addressUnknown(name, more.includes('peer'))
    misuse.keyUndefined()
  }

  function rule(request: Request, facts: RequestFacts, counted: Counted): Ruling<Request> {
    const { allowed, limits, delayMs } = counted
    const headers = lowerCaseHeaders(limits, standards)
    if (!allowed || onDecision !== undefined) {
      const isUnavailable = !allowed && limits.some(({ decision }) => decision.degraded === 'closed')
      const event: RateLimitEvent<Request> = {
        request,
        allowed,
        decision: shown(limits).decision,
        limits,
        status: isUnavailable ? 503 : status,
      }
      onDecision?.(event)
      if (!allowed) onDenied?.(event)
      if (!allowed && enforce) {
        headers['cache-control'] = 'no-store'
        const answer = () => answerOf(event, facts, isUnavailable)
        return { ...UNCOUNTED, refusal: { event, status: event.status, answer }, headers }
      }
    }
    if (!enforce) {
      headers['x-ratelimit-dry-run'] = allowed ? 'allowed' : 'denied'
      // The request passes, so the client need not wait.
      delete headers['retry-after']
    }
    return {
      isGone: false,
      refusal: undefined,
      headers,
      holdMs: queue && enforce ? Math.min(Math.ceil(delayMs), LONGEST_HOLD_MS) : 0,
      atEnd: refundWhen === undefined || !allowed ? undefined : (status) => refundOf(counted, status),
    }
  }

  function answerOf(event: RateLimitEvent<Request>, facts: RequestFacts, isUnavailable: boolean) {
    const own = typeof body === 'function' ? body(event) : isUnavailable ? undefined : body
    if (typeof (own as Promise<unknown> | undefined)?.then === 'function') {
      const message = `body must return text or an object, got ${show(own)}. Use handler for a response that takes time.`
      throw new TidegateError('OPTION_INVALID', message, { field: 'body' })
    }
    if (typeof own === 'string') return { contentType: 'text/plain; charset=utf-8', body: own }
    if (own !== undefined) return { contentType: 'application/json', body: own }
    const chosen =
      format === 'accept' ? (prefersProblem(facts.header('accept')) ? 'problem' : 'plain') : format
    const form = { format: chosen, instance: facts.path }
    if (isUnavailable) return unavailable({ ...form, retryAfterSeconds: longestWait(event.limits) })
    const answer = refusal(event.limits, form)
    return chosen === 'plain' ? answer : { ...answer, body: { ...answer.body, status } }
  }

  /** The refund for a response with this status, if there is one. */
  function refundOf(counted: Counted, status: number): (() => void) | undefined {
    let isDue: unknown
    try {
      isDue = refundWhen!(status)
    } catch (error) {
      misuse.refundFailed(error)
      return undefined
    }
    if (!isDue) return undefined
    if (typeof (isDue as Promise<unknown>).then !== 'function') return () => void refund(counted)
    // Rejections are handled now, because the response may take longer than the promise.
    const due = Promise.resolve(isDue).catch(misuse.refundFailed)
    return async () => {
      if (await due) await refund(counted)
    }
  }

  /** The response is sent, so a failed refund cannot change it. The units come back with time. */
  async function refund(counted: Counted): Promise<void> {
    try {
      await counting.refund!(counted)
    } catch (error) {
      if (error instanceof TidegateError && error.code === 'REFUND_INVALID') misuse.refundFailed(error)
    }
  }

  return {
    async decide(request, rest = NOTHING) {
      misuse.called()
      try {
        const facts = reader.facts(request, findIp, rest)
        if (skip !== undefined && (await skip(request))) return UNCOUNTED
        const counted = await counting.count(request, facts)
        if (counted === undefined) return facts.isGone === true ? GONE : UNCOUNTED
        misuse.counted(reader.identity(request, rest), counted.limits)
        return rule(request, facts, counted)
      } catch (error) {
        throw asError(error)
      }
    },
  }
}

const NOTHING: readonly unknown[] = []

/** For a request that nothing counts. */
const UNCOUNTED = Object.freeze({
  isGone: false,
  refusal: undefined,
  headers: Object.freeze({}),
  holdMs: 0,
  atEnd: undefined,
})

/** For a disconnected client that nothing counts: letting it pass would be a way around every limit. */
const GONE = Object.freeze({ ...UNCOUNTED, isGone: true })

function addressUnknown(name: string, hasPeer: boolean): TidegateError {
  const source = hasPeer
    ? "This runtime does not pass the client's address. Write peer: (request) => …, which reads a header that your platform sets, for example peer: (request) => request.headers.get('x-real-ip'); or proxies: { hops: 1 } behind one proxy that sets X-Forwarded-For"
    : 'The connection has no address, as on a Unix socket. Write proxies: { hops: 1 } if the proxy in front sets X-Forwarded-For'
  return new TidegateError(
    'ADDRESS_UNKNOWN',
    `${name}: the key is the client's address, which is unknown, so nothing would be counted. ${source}; or another key, for example key: 'user:{header.x-user-id}'.`,
    { field: hasPeer ? 'peer' : 'proxies' },
  )
}
