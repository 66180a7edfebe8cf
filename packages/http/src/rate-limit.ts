import { type MaybePromise, show, TidegateError } from '@tidegate/core'
import { prefersProblem, refusal, unavailable } from './answers.js'
import type { Counted } from './counted.js'
import { defineCounting } from './counting.js'
import { longestWait, lowerCaseHeaders, shown } from './headers.js'
import { NO_MISTAKES, watchMistakes } from './mistakes.js'
import { clientIp, defineProxies } from './proxies.js'
import {
  assertFits,
  assertRateLimitOptions,
  LONGEST_HOLD_MS,
  type RateLimitEvent,
  type RateLimitOptions,
} from './rate-limit-options.js'
import type { RequestFacts } from './request.js'
import { asError } from './thrown.js'
import { isPromise, when } from './when.js'

/*
 * All that a middleware does, but for how its framework is spoken to:
 *
 *   skip? -> who is asking -> what it takes -> the limits decide -> headers -> pass, hold, or answer
 *
 * Without a promise where the store, and the user's functions, need none.
 */

/** How a framework's request is read. */
export interface Reader<Request> {
  /** `rest` is what came with the request. The connection's address is read at once: it is lost if the client hangs up. */
  facts(request: Request, whoIs: WhoIs, rest: readonly unknown[]): RequestFacts
  /** What is the same object for every middleware that sees this request. */
  identity(request: Request): object
}

/** The client's address, from that of the connection and the headers. */
export type WhoIs = (peer: string | undefined, facts: Pick<RequestFacts, 'header'>) => string | undefined

export interface RateLimit<Request> {
  /** What to do with this request. Throws, or rejects, what the user's own functions do. */
  decide(request: Request, rest?: readonly unknown[]): MaybePromise<Ruling<Request>>
}

/** What to do with one request. */
export interface Ruling<Request> {
  /** Whether the client hung up before anybody knew who it was. Nothing counts it, so nothing is to run for it. */
  readonly isGone: boolean
  /** Undefined if the request may pass. */
  readonly refusal: Refusal<Request> | undefined
  /** To be set whatever is answered. */
  readonly headers: Readonly<Record<string, string>>
  /** How long to hold it before it passes. */
  readonly holdMs: number
  /**
   * Asked with the status of the answer, it says what to do when all of it is sent; undefined for nothing. Undefined
   * itself if nobody wants to know.
   */
  readonly atEnd: ((status: number) => (() => void) | undefined) | undefined
}

export interface Refusal<Request> {
  readonly event: RateLimitEvent<Request>
  readonly status: number
  /** Our answer; made when it is asked for. */
  answer(): { readonly contentType: string; readonly body: string | object }
}

/** What a framework adds. */
export interface Addition<Request> {
  reader: Reader<Request>
  /** How users know the middleware, for messages: `rateLimit()`. */
  name: string
  /** The options that only this framework has. */
  options: readonly string[]
  /** Whether it is made by us at the first request, and not by users. Default: false. */
  isMadeLate?: boolean
}

export function defineRateLimit<Request>(
  options: RateLimitOptions<Request>,
  { reader, name, options: more, isMadeLate = false }: Addition<Request>,
): RateLimit<Request> {
  assertRateLimitOptions(name, options, more)
  const { skip, enforce = true, onDecision, onDenied, queue = false, refundWhen } = options
  const { standards = ['legacy', 'draft-10'], format = 'accept', status = 429, body } = options
  const proxies = defineProxies(options.proxies)
  const counting = defineCounting(options, () => mistakes.keyUndefined())
  const mistakes = options.warnings === false ? NO_MISTAKES : watchMistakes(name, counting.by, isMadeLate)
  assertFits(options, counting.policies, counting.refund !== undefined)
  const isAnyTrusted = proxies.trusted.length > 0

  const whoIs: WhoIs = (peer, facts) => {
    if (peer !== undefined && typeof peer !== 'string')
      throw invalid('peer', 'the address as text, and no promise', peer)
    if (!isAnyTrusted) mistakes.forwardedUntrusted(facts)
    return clientIp(proxies, peer, (name) => facts.header(name))
  }

  function count(request: Request, facts: RequestFacts): MaybePromise<Ruling<Request>> {
    const counted = counting.count(request, facts)
    return isPromise(counted)
      ? counted.then((counted) => rule(request, facts, counted))
      : rule(request, facts, counted)
  }

  function rule(request: Request, facts: RequestFacts, counted: Counted | undefined): Ruling<Request> {
    if (counted === undefined) return facts.isGone === true ? GONE : UNCOUNTED
    const { allowed, limits, delayMs } = counted
    mistakes.counted(reader.identity(request), limits)
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
      tell(onDecision, event)
      if (!allowed) tell(onDenied, event)
      if (!allowed && enforce) {
        headers['cache-control'] = 'no-store'
        const answer = () => answerOf(event, facts, isUnavailable)
        return { ...UNCOUNTED, refusal: { event, status: event.status, answer }, headers }
      }
    }
    if (!enforce) {
      headers['x-ratelimit-dry-run'] = allowed ? 'allowed' : 'denied'
      // It is not refused: nobody is to wait.
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
    if (isPromise(own)) throw invalid('body', 'text or an object; a handler may wait', own)
    if (typeof own === 'string') return { contentType: 'text/plain; charset=utf-8', body: own }
    if (own !== undefined) return { contentType: 'application/json', body: own }
    const asked =
      format === 'accept' ? (prefersProblem(facts.header('accept')) ? 'problem' : 'plain') : format
    const asAnswer = { format: asked, instance: facts.path }
    if (isUnavailable) {
      return unavailable({ ...asAnswer, retryAfterSeconds: longestWait(event.limits) })
    }
    const answer = refusal(event.limits, asAnswer)
    return asked === 'plain' ? answer : { ...answer, body: { ...answer.body, status } }
  }

  /** Giving back, if an answer of this status is a reason to. */
  function refundOf(counted: Counted, status: number): (() => void) | undefined {
    try {
      const isReason = refundWhen!(status)
      if (!isPromise(isReason)) return isReason ? () => void refund(counted) : undefined
      const known = isReason.catch(mistakes.refundFailed)
      return () => void known.then((isReason) => isReason && refund(counted))
    } catch (error) {
      mistakes.refundFailed(error)
      return undefined
    }
  }

  /** The answer is sent, and nobody is there to hear of a failure. What is not given back comes back with time. */
  async function refund(counted: Counted): Promise<void> {
    try {
      await counting.refund!(counted)
    } catch (error) {
      if (error instanceof TidegateError && error.code === 'REFUND_INVALID') mistakes.refundFailed(error)
    }
  }

  function ruleOn(request: Request, facts: RequestFacts): MaybePromise<Ruling<Request>> {
    if (skip === undefined) return count(request, facts)
    return when(skip(request), (isSkipped) => (isSkipped ? UNCOUNTED : count(request, facts)))
  }

  return {
    decide(request, rest = NOTHING) {
      mistakes.called()
      try {
        const ruling = ruleOn(request, reader.facts(request, whoIs, rest))
        return isPromise(ruling) ? ruling.catch(fail) : ruling
      } catch (error) {
        return fail(error)
      }
    },
  }
}

function fail(thrown: unknown): never {
  throw asError(thrown)
}

/** Whoever listens may have a mistake in it. No request is to fail for that. */
function tell<Event>(listener: ((event: Event) => unknown) | undefined, event: Event): void {
  try {
    const told = listener?.(event)
    if (isPromise(told)) told.catch(() => {})
  } catch {
    // As above.
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

/** For one that nothing counts because its client has hung up: to let it pass would be a way around every limit. */
const GONE = Object.freeze({ ...UNCOUNTED, isGone: true })

function invalid(field: string, what: string, got: unknown): TidegateError {
  return new TidegateError('OPTION_INVALID', `${field} must return ${what}, got ${show(got)}.`, { field })
}
