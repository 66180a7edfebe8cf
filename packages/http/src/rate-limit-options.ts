import {
  assertOptions,
  type Decision,
  type MaybePromise,
  MemoryStore,
  type Policy,
  type Store,
  show,
  TidegateError,
} from '@tidegate/core'
import type { AnswerFormat } from './answers.js'
import type { LimitCounted } from './counted.js'
import { COUNTED_BY, type CountingOptions } from './counting.js'
import { assertStandards, type Standard } from './headers.js'
import type { ProxiesOptions } from './proxies.js'

/** What every middleware takes, whatever its framework. `Request` is what the framework calls a request. */
export interface RateLimitOptions<Request> extends CountingOptions<Request> {
  /** The proxies in front, which say who is asking. Default: none. */
  proxies?: ProxiesOptions
  /** Requests that are not counted. Default: none. */
  skip?: (request: Request) => MaybePromise<boolean>
  /** With `false`, requests are counted and let through, and marked. Default: true. */
  enforce?: boolean
  /** Told of every decision; what it throws is not heard. Default: nobody is. */
  onDecision?: (event: RateLimitEvent<Request>) => unknown
  /** Told of every refusal, likewise. Default: nobody is. */
  onDenied?: (event: RateLimitEvent<Request>) => unknown
  /** In which ways the headers say it. Default: `['legacy', 'draft-10']`. */
  standards?: readonly Standard[]
  /** The form of our bodies; `accept` asks the client. Default: `'accept'`. */
  format?: AnswerFormat | 'accept'
  /** The status of a refusal, 400 to 599. Default: 429. */
  status?: number
  /** The body of a refusal: text, something for JSON, or a function that makes it. Default: ours. */
  body?: string | object | ((event: RateLimitEvent<Request>) => string | object)
  /** Holds a request for as long as a leaky bucket says. Default: false. */
  queue?: boolean
  /** Gives back what a request took, if its answer has such a status. Default: nothing is. */
  refundWhen?: (status: number) => MaybePromise<boolean>
  /** With `false`, nothing is said of likely mistakes. Default: true. */
  warnings?: boolean
}

/** What was decided about one request. */
export interface RateLimitEvent<Request> {
  readonly request: Request
  /** What the limits say. With `enforce: false` the request passes all the same. */
  readonly allowed: boolean
  /** Of the limit that stands for all: the refusing one with the longest wait, else the fullest. */
  readonly decision: Decision
  /** Every limit that was asked. */
  readonly limits: readonly LimitCounted[]
  /** What a refusal is answered with: 503 if the store fails and the policy then refuses. */
  readonly status: number
}

const KNOWN = [
  ...COUNTED_BY,
  'store',
  'failure',
  'key',
  'cost',
  'proxies',
  'skip',
  'enforce',
  'onDecision',
  'onDenied',
  'standards',
  'format',
  'status',
  'body',
  'queue',
  'refundWhen',
  'warnings',
]

const FUNCTIONS = ['skip', 'onDecision', 'onDenied', 'refundWhen', 'handler', 'peer', 'onError'] as const
const FLAGS = ['enforce', 'queue', 'warnings', 'global'] as const

/** What is wrong with options that says so by itself; `more` are those that only this framework has. */
export function assertRateLimitOptions(of: string, options: object, more: readonly string[]): void {
  assertOptions(of, options, [...KNOWN, ...more])
  const given = options as RateLimitOptions<unknown> & {
    handler?: unknown
    peer?: unknown
    onError?: unknown
    global?: unknown
  }
  for (const field of FUNCTIONS) {
    const value = given[field]
    if (value === undefined || typeof value === 'function') continue
    throw invalid(field, `${field} must be a function, got ${show(value)}.`)
  }
  for (const field of FLAGS) {
    const value: unknown = given[field]
    if (value === undefined || typeof value === 'boolean') continue
    throw invalid(field, `${field} must be true or false, got ${show(value)}.`)
  }
  const { standards, format, status, body } = given
  if (standards !== undefined) assertStandards(standards)
  if (format !== undefined && !FORMATS.includes(format)) {
    throw invalid('format', `format must be 'accept', 'plain' or 'problem', got ${show(format)}.`)
  }
  if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status <= 599)) {
    throw invalid('status', `status must be a whole number from 400 to 599, got ${show(status)}.`)
  }
  if (body !== undefined && (body === null || !['string', 'object', 'function'].includes(typeof body))) {
    throw invalid('body', `body must be text, an object, or a function that makes one, got ${show(body)}.`)
  }
}

/** What cannot be, given what counts. */
export function assertFits(
  { limiter, queue, refundWhen }: RateLimitOptions<never>,
  policies: readonly Policy[],
  canRefund: boolean,
): void {
  const isLeaky = (policy: Policy) => policy.algorithm === 'leaky-bucket'
  if (queue === true && policies.length > 0 && !policies.some(isLeaky)) {
    throw invalid('queue', 'queue is for a leaky bucket, which says how long to wait; use leakyBucket().')
  }
  if (queue === true && typeof limiter?.policy === 'string') {
    throw invalid(
      'queue',
      `queue needs a leaky bucket's numbers, and of ${show(limiter.policy)} only the name is known here, so nobody would be held. Give the limiter the policy itself: leakyBucket({ capacity, leakRate, name: ${show(limiter.policy)} }).`,
    )
  }
  for (const policy of queue === true ? policies : []) {
    if (policy.algorithm !== 'leaky-bucket' || policy.spanUs / 1000 <= LONGEST_HOLD_MS) continue
    throw invalid(
      'queue',
      `"${policy.name}" could hold a request for more than a day. Take a smaller capacity or a faster leakRate.`,
    )
  }
  if (refundWhen !== undefined && !canRefund) {
    throw invalid('refundWhen', 'refundWhen needs a limiter that can refund; one that asks a service cannot.')
  }
}

/** No client waits that long, and no timer can for much longer than this. */
export const LONGEST_HOLD_MS = 86_400_000

const FORMATS: readonly unknown[] = ['accept', 'plain', 'problem']

/**
 * Options for a part of an application: its own before those of the whole. Whatever counts in one of them replaces
 * all that counts in the other, but for the store, so that both count in one place.
 */
export function mergeOptions<Options extends CountingOptions<never>>(whole: Options, own: Options): Options {
  if (COUNTED_BY.every((name) => own[name] === undefined)) return { ...whole, ...own }
  const { limiter, policy, rules, store, failure, ...others } = whole
  if (own.limiter !== undefined) return { ...others, ...own } as Options
  const sharedStore = store ?? (limiter?.store as Store | undefined)
  return {
    ...others,
    ...(sharedStore !== undefined && { store: sharedStore }),
    ...(failure !== undefined && { failure }),
    ...own,
  } as Options
}

/** The same with a store that its parts can share. A limiter has its own. */
export function withStore<Options extends CountingOptions<never>>(options: Options): Options {
  if (options?.limiter !== undefined || options?.store !== undefined) return options
  return { ...options, store: new MemoryStore() }
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
