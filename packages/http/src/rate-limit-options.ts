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
import { COUNTED_BY, type CountingOptions, namesCounting } from './counting.js'
import { foreignOptions } from './foreign-options.js'
import { assertStandards, type Standard } from './headers.js'
import { POLICY_FIELDS } from './policy-fields.js'
import type { ProxiesOptions } from './proxies.js'

/** The options of every middleware. `Request` is the request of the framework. */
export interface RateLimitOptions<Request> extends CountingOptions<Request> {
  /** The proxies in front of the server, which name the client. Default: the framework's setting, else none. */
  proxies?: ProxiesOptions
  /** Requests that are not counted. Default: none. */
  skip?: (request: Request) => MaybePromise<boolean>
  /** With `false`, requests are counted and marked, and all of them pass. Default: true. */
  enforce?: boolean
  /** Called for every decision. An error in it becomes a warning. Default: none. */
  onDecision?: (event: RateLimitEvent<Request>) => unknown
  /** Called for every denied request, likewise. Default: none. */
  onDenied?: (event: RateLimitEvent<Request>) => unknown
  /** The standards of the headers. Default: `['legacy', 'draft-10']`. */
  standards?: readonly Standard[]
  /** The format of the default bodies; `accept` follows the client's Accept header. Default: `'accept'`. */
  format?: AnswerFormat | 'accept'
  /** The status of a denied request, 400 to 599. Default: 429. */
  status?: number
  /** The body of a denied request: text, an object for JSON, or a function that returns one. Default: a JSON error. */
  body?: string | object | ((event: RateLimitEvent<Request>) => string | object)
  /** Holds a request for as long as a leaky bucket says. Default: false. */
  queue?: boolean
  /** Refunds a request by the status of its response. Default: no refunds. */
  refundWhen?: (status: number) => MaybePromise<boolean>
  /** With `false`, likely misuse is not reported. Default: true. */
  warnings?: boolean
}

/** The decision about one request. */
export interface RateLimitEvent<Request> {
  readonly request: Request
  /** Whether the limits allow the request. With `enforce: false` it passes in any case. */
  readonly allowed: boolean
  /** The decision shown in the headers: the denying limit with the longest wait, else the one nearest to its limit. */
  readonly decision: Decision
  /** Every limit that counted the request. */
  readonly limits: readonly LimitCounted[]
  /** The status of a denial: 503 if the store is unavailable and the policy is `closed`. */
  readonly status: number
}

const KNOWN = [
  ...POLICY_FIELDS,
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

/** Rejects options that are wrong by themselves; `more` are those that only this framework has. */
export function assertRateLimitOptions(name: string, options: object, more: readonly string[]): void {
  const known = [...KNOWN, ...more]
  const foreign = foreignOptions(options ?? {}, known)
  if (foreign.length > 0) {
    const field = Object.keys(options).find((key) => !known.includes(key))!
    throw invalid(field, `${name} has other option names than the package you may know. ${foreign.join(' ')}`)
  }
  assertOptions(name, options, known)
  const values = options as RateLimitOptions<unknown> & {
    handler?: unknown
    peer?: unknown
    onError?: unknown
    global?: unknown
  }
  for (const field of FUNCTIONS) {
    const value = values[field]
    if (value === undefined || typeof value === 'function') continue
    throw invalid(field, `${field} must be a function, got ${show(value)}.`)
  }
  for (const field of FLAGS) {
    const value: unknown = values[field]
    if (value === undefined || typeof value === 'boolean') continue
    throw invalid(field, `${field} must be true or false, got ${show(value)}.`)
  }
  const { standards, format, status, body } = values
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

/** Rejects options that do not fit what counts. */
export function assertFits(
  { limiter, queue, refundWhen }: RateLimitOptions<never>,
  policies: readonly Policy[],
  canRefund: boolean,
): void {
  const isLeaky = (policy: Policy) => policy.algorithm === 'leaky-bucket'
  if (queue === true && policies.length > 0 && !policies.some(isLeaky)) {
    throw invalid(
      'queue',
      'queue needs a leaky bucket, which says how long to hold a request. Use leakyBucket().',
    )
  }
  if (queue === true && typeof limiter?.policy === 'string') {
    throw invalid(
      'queue',
      `queue needs the numbers of a leaky bucket, and the limiter knows only the name ${show(limiter.policy)}. Give the limiter the policy: leakyBucket({ capacity, leakRate, name: ${show(limiter.policy)} }).`,
    )
  }
  for (const policy of queue === true ? policies : []) {
    if (policy.algorithm !== 'leaky-bucket' || policy.spanUs / 1000 <= LONGEST_HOLD_MS) continue
    throw invalid(
      'queue',
      `"${policy.name}" could hold a request for more than a day. Use a smaller capacity or a faster leakRate.`,
    )
  }
  if (refundWhen !== undefined && !canRefund) {
    throw invalid('refundWhen', 'refundWhen needs a limiter that can refund, and a remote limiter cannot.')
  }
}

/** One day. Clients do not wait longer, and timers cannot wait much longer. */
export const LONGEST_HOLD_MS = 86_400_000

const FORMATS: readonly unknown[] = ['accept', 'plain', 'problem']

/**
 * Options of a route, a class or a method, before those of the whole application. Options that name what counts replace
 * all of the counting, except for the store.
 */
export function mergeOptions<Options extends CountingOptions<never>>(whole: Options, own: Options): Options {
  if (!namesCounting(own)) return { ...whole, ...own }
  const { limiter, store, failure, ...others } = whole
  for (const field of ['policy', 'rules', ...POLICY_FIELDS] as const) delete others[field]
  if (own.limiter !== undefined) return { ...others, ...own } as Options
  const sharedStore = store ?? (limiter?.store as Store | undefined)
  return {
    ...others,
    ...(sharedStore !== undefined && { store: sharedStore }),
    ...(failure !== undefined && { failure }),
    ...own,
  } as Options
}

/** The options with a store that all parts share. A limiter has its own. */
export function withStore<Options extends CountingOptions<never>>(options: Options): Options {
  if (options?.limiter !== undefined || options?.store !== undefined) return options
  return { ...options, store: new MemoryStore() }
}

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
