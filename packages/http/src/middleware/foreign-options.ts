import { show } from '@tidegate/core'

/*
 * The counterparts of options of express-rate-limit and @fastify/rate-limit, for error messages.
 */

/** A counterpart, or a function of the value that returns one, or undefined if the value is the default here. */
type Counterpart = string | ((value: unknown) => string | undefined)

const POLICY_PER_REQUEST = 'policy: (request) => fixedWindow(…)'

const COUNTERPARTS: Readonly<Record<string, Counterpart>> = {
  // Both packages
  max: (value) => (typeof value === 'function' ? POLICY_PER_REQUEST : `limit: ${show(value)}`),
  keyGenerator: 'key: (request) => …',
  // express-rate-limit
  windowMs: (value) => `window: ${durationOf(value)}, start: 'first-request'`,
  message: (value) => `body: ${typeof value === 'function' ? '({ decision }) => …' : show(value)}`,
  statusCode: (value) => `status: ${show(value)}`,
  identifier: "name: 'api'",
  requestPropertyName: 'onDecision: ({ request, decision }) => …',
  skipFailedRequests: unlessFalse('refundWhen: (status) => status >= 400'),
  skipSuccessfulRequests: unlessFalse('refundWhen: (status) => status < 400'),
  requestWasSuccessful: 'refundWhen: (status) => …',
  passOnStoreError: (value) => `onStoreFailure: ${value === false ? "'closed'" : "'open'"}`,
  validate: (value) => (value === false ? 'warnings: false' : 'warnings: true'),
  logger: "process.on('warning', (warning) => …)",
  ipv6Subnet: (value) => `proxies: { ipv6Prefix: ${typeof value === 'number' ? value : 64} }`,
  // @fastify/rate-limit
  timeWindow: (value) => (typeof value === 'function' ? POLICY_PER_REQUEST : `window: ${durationOf(value)}`),
  allowList: 'skip: (request) => …',
  whitelist: 'skip: (request) => …',
  skipOnError: (value) => `onStoreFailure: ${value === true ? "'open'" : "'closed'"}`,
  redis: "store: new RedisStore(client), with import { RedisStore } from '@tidegate/redis'",
  nameSpace: "the prefix of the store: new RedisStore(client, { prefix: 'my-app' })",
  cache: 'store: new MemoryStore({ maxKeys: 5000 })',
  errorResponseBuilder: 'body: ({ decision }) => …',
  onExceeded: 'onDenied: (event) => …',
  onExceeding: 'onDecision: (event) => …',
  onBanReach: 'onDenied: (event) => …',
  groupId: "policies with one name: name: 'group'",
  continueExceeding: unlessFalse("algorithm: 'sliding-window-log', countDenied: true"),
  exponentialBackoff: unlessFalse("algorithm: 'token-bucket'"),
  ban: "blockFor: '15m'",
}

/** The options of both packages that select headers. All of them have the counterpart `standards`. */
const HEADER_OPTIONS: readonly string[] = [
  'standardHeaders',
  'legacyHeaders',
  'headers',
  'addHeaders',
  'addHeadersOnExceeding',
  'enableDraftSpec',
]

/** Returns advice for each option of another package. `optionNames` are the options of this package. */
export function foreignOptions(options: object, optionNames: readonly string[]): string[] {
  const foreign = Object.entries(options).filter(([field]) => !optionNames.includes(field))
  const advice = foreign.flatMap(([field, value]) => {
    if (!Object.hasOwn(COUNTERPARTS, field)) return []
    const counterpart = COUNTERPARTS[field]!
    const text = typeof counterpart === 'string' ? counterpart : counterpart(value)
    const option = textOf(field, value)
    return text === undefined
      ? `Remove ${option}, which is the default here.`
      : `Replace ${option} with ${text}.`
  })
  const headers = foreign.filter(([field]) => HEADER_OPTIONS.includes(field))
  if (headers.length === 0) return advice
  const names = headers.map(([field, value]) => textOf(field, value)).join(' and ')
  return [...advice, `Replace ${names} with ${standardsOf(Object.fromEntries(headers))}.`]
}

function textOf(field: string, value: unknown): string {
  return `${field}: ${typeof value === 'function' ? '…' : show(value)}`
}

function standardsOf(options: Record<string, unknown>): string {
  // `headers` is the earlier name of `legacyHeaders`.
  const { standardHeaders, headers, legacyHeaders = headers, enableDraftSpec } = options
  const standards: string[] = []
  if (legacyHeaders !== false && enableDraftSpec !== true) standards.push("'legacy'")
  if (standardHeaders !== false) standards.push(`'${draftOf(standardHeaders)}'`)
  return `standards: [${standards.join(', ')}]`
}

/** The counterpart of an option that is off by default: the advice for `false` must not turn it on. */
function unlessFalse(text: string): Counterpart {
  return (value) => (value === false ? undefined : text)
}

/** Converts durations such as `60000` and `'1 minute'` to the notation of this package. */
function durationOf(value: unknown): string {
  const text = typeof value === 'string' ? /^\s*(\d+)\s*(ms|milli|s|m|h|d)/i.exec(value) : null
  const unit = text?.[2]?.toLowerCase()
  const ms = text === null ? value : Number(text[1]) * UNITS[unit === 'milli' ? 'ms' : unit!]!
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 1) return "'1m'"
  if (ms > MAX_WINDOW_MS) return "'366d' (the longest window)"
  const [name, length] = Object.entries(UNITS).findLast(([, length]) => ms % length === 0)!
  return `'${ms / length}${name}'`
}

const MAX_WINDOW_MS = 366 * 86_400_000
const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function draftOf(value: unknown): string {
  return value === 'draft-7' || value === 'draft-8'
    ? value
    : value === true || value === 'draft-6'
      ? 'draft-6'
      : 'draft-10'
}
