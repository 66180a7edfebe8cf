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

/** Options of every middleware. `Request` is the request type of the framework. */
export interface RateLimitOptions<Request> extends CheckerOptions<Request> {
  /** The reverse proxies in front of the server. Default: the framework's setting, else none. */
  proxies?: ProxiesOptions
  /** Returns true for requests that are not counted. Default: all requests are counted. */
  skip?: (request: Request) => MaybePromise<boolean>
  /** With `false` (dry run), denied requests pass too, with a header. Default: true. */
  enforce?: boolean
  /** Called for every decision. Its errors become process warnings. Default: none. */
  onDecision?: (event: RateLimitEvent<Request>) => unknown
  /** Called for every denied request. Its errors become process warnings. Default: none. */
  onDenied?: (event: RateLimitEvent<Request>) => unknown
  /** The standards of the headers. Default: `['legacy', 'draft-10']`. */
  standards?: readonly Standard[]
  /** The format of the default body: `'plain'`, `'problem'`, or `'accept'` for the Accept header. Default: `'accept'`. */
  format?: BodyFormat | 'accept'
  /** The status of a denied request, 400 to 599. Default: 429. */
  status?: number
  /** The body for a denied request: text, an object for JSON, or a function that returns one. Default: a JSON error. */
  body?: string | object | ((event: RateLimitEvent<Request>) => string | object)
  /** Whether to hold a request for the delay of a leaky bucket. Default: false. */
  queue?: boolean
  /** Called with the status of the response. Returns true to refund the request. Default: no refunds. */
  refundWhen?: (status: number) => MaybePromise<boolean>
  /** Whether to print warnings about likely misuse. Default: true. */
  warnings?: boolean
}

/** The decision about one request. */
export interface RateLimitEvent<Request> {
  readonly request: Request
  /** Whether the limits allow the request. With `enforce: false` a denied request passes too. */
  readonly allowed: boolean
  /** The decision in the headers: the denial with the longest wait, else the limit with the smallest remaining part. */
  readonly decision: Decision
  /** The decisions of all limits that counted the request. */
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
const EXAMPLES: Record<(typeof FUNCTIONS)[number], string> = {
  skip: "skip: (request) => request.url === '/health'",
  onDecision: 'onDecision: ({ decision }) => console.log(decision)',
  onDenied: 'onDenied: ({ decision }) => console.log(decision)',
  refundWhen: 'refundWhen: (status) => status >= 500',
  handler: "handler: (request, response) => response.end('Too many requests')",
  peer: "peer: (request) => request.headers.get('x-real-ip')",
  onError: 'onError: (error, request, response) => response.destroy()',
}
const FLAGS = ['enforce', 'queue', 'warnings', 'global'] as const

/** Rejects options that are invalid on their own. `frameworkOptions` are the additional options of the framework. */
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
      `${name} has no option ${show(field)}; write ${proxiesCode(value)} for the proxies in front of the server.`,
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
    throw optionInvalid(
      field,
      `${field} must be a function, got ${show(value)}. Write for example ${EXAMPLES[field]}.`,
    )
  }
  for (const field of FLAGS) {
    const value: unknown = values[field]
    if (value === undefined || typeof value === 'boolean') continue
    throw optionInvalid(
      field,
      `${field} must be true or false, got ${show(value)}. Write for example ${field}: ${field === 'queue'}.`,
    )
  }
  const { standards, format, status, body } = values
  if (standards !== undefined) assertStandards(standards)
  if (format !== undefined && !FORMATS.includes(format)) {
    throw optionInvalid(
      'format',
      `format must be 'accept', 'plain' or 'problem', got ${show(format)}. Leave it out for 'accept'.`,
    )
  }
  numberOption('status', status, { from: 400, to: 599, otherwise: 429, isWhole: true })
  if (body !== undefined && (body === null || !['string', 'object', 'function'].includes(typeof body))) {
    throw optionInvalid(
      'body',
      `body must be a string, an object, or a function that returns one, got ${show(body)}. Write for example body: { error: 'slow down' }.`,
    )
  }
}

/** Rejects options that do not apply to the limits. */
export function assertFits(
  { limiter, queue, refundWhen }: RateLimitOptions<never>,
  policies: readonly Policy[],
  canRefund: boolean,
): void {
  const isLeaky = (policy: Policy) => policy.algorithm === 'leaky-bucket'
  if (queue === true && policies.length > 0 && !policies.some(isLeaky)) {
    throw optionInvalid(
      'queue',
      `queue needs a leaky bucket, because no other algorithm delays requests, got ${policies.map(({ algorithm }) => algorithm).join(', ')}. Write for example policy: leakyBucket({ capacity: 20, leakRate: '5/1s' }).`,
    )
  }
  if (queue === true && typeof limiter?.policy === 'string') {
    throw optionInvalid(
      'queue',
      `queue needs the numbers of a leaky bucket, but the limiter has only the name ${show(limiter.policy)}. Pass the policy to the limiter: leakyBucket({ capacity, leakRate, name: ${show(limiter.policy)} }).`,
    )
  }
  for (const policy of queue === true ? policies : []) {
    if (policy.algorithm !== 'leaky-bucket' || policy.spanUs / 1000 <= LONGEST_HOLD_MS) continue
    throw optionInvalid(
      'queue',
      `queue can hold a request for at most a day, but the leaky bucket "${policy.name}" could need longer. Use a smaller capacity or a faster leakRate.`,
    )
  }
  const isConcurrency = (policy: Policy) => policy.algorithm === 'concurrency'
  if (refundWhen !== undefined && policies.length > 0 && policies.every(isConcurrency)) {
    throw optionInvalid(
      'refundWhen',
      'refundWhen needs a rate policy, got concurrency policies only, whose slots are always released when the response ends. Remove refundWhen.',
    )
  }
  if (refundWhen !== undefined && !canRefund) {
    throw optionInvalid(
      'refundWhen',
      'refundWhen needs a limiter with the method refund. Write for example limiter: createLimiter({ policy }).',
    )
  }
}

/** The maximum time that `queue` holds a request: one day, in milliseconds. */
export const LONGEST_HOLD_MS = 86_400_000

const FORMATS: readonly unknown[] = ['accept', 'plain', 'problem']

/**
 * Overrides options of the application with those of a route, a class or a method. Options that define a limit replace the
 * whole limit of the application, except for its store.
 */
export function mergeOptions<Options extends CheckerOptions<never>>(shared: Options, own: Options): Options {
  if (!definesLimit(own)) return { ...shared, ...own }
  const { limiter, store, failure, ...others } = shared
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

/** Adds a memory store that all routes share, unless the options have a store or a limiter. */
export function withStore<Options extends CheckerOptions<never>>(options: Options): Options {
  if (options?.limiter !== undefined || options?.store !== undefined) return options
  return { ...options, store: new MemoryStore() }
}
