import {
  assertOptions,
  type Decision,
  type MaybePromise,
  MemoryStore,
  numberOption,
  optionInvalid,
  type Policy,
  type Store,
  show,
} from '@tidegate/core'
import { type ProxiesOptions, proxiesCode } from '../address/proxies.js'
import type { BodyFormat } from '../response/error-response.js'
import { assertStandards, type Standard } from '../response/headers.js'
import type { LimitDecision } from './checker.js'
import { type CheckerOptions, definesLimit, LIMIT_OPTIONS } from './define-checker.js'
import { foreignOptions } from './foreign-options.js'
import { POLICY_FIELDS } from './policy-fields.js'
import { assertNotArgument } from './wrong-arguments.js'

/** The options of every middleware. `Request` is the request of the framework. */
export interface RateLimitOptions<Request> extends CheckerOptions<Request> {
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
  format?: BodyFormat | 'accept'
  /** The status of a denied request, 400 to 599. Default: 429. */
  status?: number
  /** The body of a denied request: text, an object for JSON, or a function that returns one. Default: a JSON error. */
  body?: string | object | ((event: RateLimitEvent<Request>) => string | object)
  /** Holds a request for the delay of a leaky bucket. Default: false. */
  queue?: boolean
  /** Called with the status of the response; true refunds the request. Default: no refunds. */
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
  readonly limits: readonly LimitDecision[]
  /** The status of a denial: 503 if the store is unavailable and the policy is `closed`. */
  readonly status: number
}

const OPTION_NAMES = [
  ...POLICY_FIELDS,
  ...LIMIT_OPTIONS,
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

/** Names of `proxies` in other libraries, and its fields. */
const PROXY_SETTINGS: readonly string[] = ['trustProxy', 'trust proxy', 'trustedProxies', 'hops', 'trusted']

const FUNCTIONS = ['skip', 'onDecision', 'onDenied', 'refundWhen', 'handler', 'peer', 'onError'] as const
const FLAGS = ['enforce', 'queue', 'warnings', 'global'] as const

/** Rejects options that are not valid on their own. `frameworkOptions` are the names that only this framework has. */
export function assertRateLimitOptions(
  name: string,
  options: object,
  frameworkOptions: readonly string[],
): void {
  assertNotArgument(name, options)
  const optionNames = [...OPTION_NAMES, ...frameworkOptions]
  const foreign = foreignOptions(options ?? {}, optionNames)
  if (foreign.length > 0) {
    const field = Object.keys(options).find((key) => !optionNames.includes(key))!
    throw optionInvalid(
      field,
      `${name} got options of express-rate-limit or @fastify/rate-limit. ${foreign.join(' ')}`,
    )
  }
  for (const [field, value] of Object.entries(options ?? {})) {
    if (!PROXY_SETTINGS.includes(field)) continue
    throw optionInvalid(
      field,
      `${name} has no option ${show(field)}; write ${proxiesCode(value)}, for the proxies in front.`,
    )
  }
  assertOptions(name, options, optionNames)
  const values = options as RateLimitOptions<unknown> & {
    handler?: unknown
    peer?: unknown
    onError?: unknown
    global?: unknown
  }
  for (const field of FUNCTIONS) {
    const value = values[field]
    if (value === undefined || typeof value === 'function') continue
    throw optionInvalid(field, `${field} must be a function, got ${show(value)}.`)
  }
  for (const field of FLAGS) {
    const value: unknown = values[field]
    if (value === undefined || typeof value === 'boolean') continue
    throw optionInvalid(field, `${field} must be true or false, got ${show(value)}.`)
  }
  const { standards, format, status, body } = values
  if (standards !== undefined) assertStandards(standards)
  if (format !== undefined && !FORMATS.includes(format)) {
    throw optionInvalid('format', `format must be 'accept', 'plain' or 'problem', got ${show(format)}.`)
  }
  numberOption('status', status, { from: 400, to: 599, otherwise: 429, isWhole: true })
  if (body !== undefined && (body === null || !['string', 'object', 'function'].includes(typeof body))) {
    throw optionInvalid(
      'body',
      `body must be a string, an object, or a function that returns one, got ${show(body)}.`,
    )
  }
}

/** Rejects options that do not fit the limits. */
export function assertFits(
  { limiter, queue, refundWhen }: RateLimitOptions<never>,
  policies: readonly Policy[],
  canRefund: boolean,
): void {
  const isLeaky = (policy: Policy) => policy.algorithm === 'leaky-bucket'
  if (queue === true && policies.length > 0 && !policies.some(isLeaky)) {
    throw optionInvalid(
      'queue',
      'queue needs a leaky bucket, which determines how long a request is held. Use leakyBucket().',
    )
  }
  if (queue === true && typeof limiter?.policy === 'string') {
    throw optionInvalid(
      'queue',
      `queue needs the numbers of a leaky bucket, and the limiter knows only the name ${show(limiter.policy)}. Give the limiter the policy: leakyBucket({ capacity, leakRate, name: ${show(limiter.policy)} }).`,
    )
  }
  for (const policy of queue === true ? policies : []) {
    if (policy.algorithm !== 'leaky-bucket' || policy.spanUs / 1000 <= LONGEST_HOLD_MS) continue
    throw optionInvalid(
      'queue',
      `"${policy.name}" could hold a request for more than a day. Use a smaller capacity or a faster leakRate.`,
    )
  }
  const isConcurrency = (policy: Policy) => policy.algorithm === 'concurrency'
  if (refundWhen !== undefined && policies.length > 0 && policies.every(isConcurrency)) {
    throw optionInvalid(
      'refundWhen',
      'refundWhen needs a rate limit. A slot of a concurrency policy is always freed when the response ends.',
    )
  }
  if (refundWhen !== undefined && !canRefund) {
    throw optionInvalid(
      'refundWhen',
      'refundWhen needs a limiter with the method refund, such as one of createLimiter().',
    )
  }
}

/** One day. Clients do not wait longer, and timers cannot wait much longer. */
export const LONGEST_HOLD_MS = 86_400_000

const FORMATS: readonly unknown[] = ['accept', 'plain', 'problem']

/**
 * Options of a route, a class or a method, before those of the whole application. Options that define a limit replace the
 * limit of the application, except for its store.
 */
export function mergeOptions<Options extends CheckerOptions<never>>(whole: Options, own: Options): Options {
  if (!definesLimit(own)) return { ...whole, ...own }
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
export function withStore<Options extends CheckerOptions<never>>(options: Options): Options {
  if (options?.limiter !== undefined || options?.store !== undefined) return options
  return { ...options, store: new MemoryStore() }
}
