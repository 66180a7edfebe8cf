import { show } from '@tidegate/core'

/*
 * Options of express-rate-limit and @fastify/rate-limit with their counterparts here, for error messages.
 */

/** Undefined where the value means the default here. */
type Counterpart = string | ((value: unknown) => string | undefined)

const POLICY_PER_REQUEST = 'policy: (request) => fixedWindow(…)'

const COUNTERPARTS: Readonly<Record<string, Counterpart>> = {
  // Both packages
  max: (value) => (typeof value === 'function' ? POLICY_PER_REQUEST : `limit: ${show(value)}`),
  keyGenerator: 'key: (request) => …',
  // express-rate-limit
  windowMs: (value) => `window: ${durationOf(value)}`,
  message: (value) => `body: ${typeof value === 'function' ? '({ decision }) => …' : show(value)}`,
  statusCode: (value) => `status: ${show(value)}`,
  standardHeaders: (value) =>
    value === false ? "standards: ['legacy']" : `standards: [${show(draftOf(value)).replaceAll('"', "'")}]`,
  legacyHeaders: (value) =>
    value === false ? "standards: ['draft-10']" : "standards: ['legacy', 'draft-10']",
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
  addHeaders: "standards: ['legacy', 'draft-10']",
  addHeadersOnExceeding: "standards: ['legacy', 'draft-10']",
  enableDraftSpec: unlessFalse("standards: ['draft-10']"),
  onExceeded: 'onDenied: (event) => …',
  onExceeding: 'onDecision: (event) => …',
  onBanReach: 'onDenied: (event) => …',
  groupId: "policies with one name: name: 'group'",
  continueExceeding: unlessFalse("algorithm: 'sliding-window-log'"),
  exponentialBackoff: unlessFalse("algorithm: 'token-bucket'"),
  ban: 'a longer window: a denied request is not counted here, so there is no ban',
}

/** A sentence for every foreign option among these, with the fields that the options do not have here. */
export function foreignOptions(options: object, known: readonly string[]): string[] {
  return Object.entries(options).flatMap(([field, value]) => {
    if (known.includes(field) || !Object.hasOwn(COUNTERPARTS, field)) return []
    const counterpart = COUNTERPARTS[field]!
    const text = typeof counterpart === 'string' ? counterpart : counterpart(value)
    const option = `${field}: ${typeof value === 'function' ? '…' : show(value)}`
    return text === undefined
      ? `Remove ${option}: that is the default here.`
      : `${option} is written ${text}.`
  })
}

/** The counterpart of an option that is off by default: `false` must not be answered with how to turn it on. */
function unlessFalse(text: string): Counterpart {
  return (value) => (value === false ? undefined : text)
}

/** `60000` and `'1 minute'` as they are written here. */
function durationOf(value: unknown): string {
  const text = typeof value === 'string' ? /^\s*(\d+)\s*(ms|milli|s|m|h|d)/i.exec(value) : null
  const unit = text?.[2]?.toLowerCase()
  const ms = text === null ? value : Number(text[1]) * UNITS[unit === 'milli' ? 'ms' : unit!]!
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 1) return "'1m'"
  const [name, length] = Object.entries(UNITS).findLast(([, length]) => ms % length === 0)!
  return `'${ms / length}${name}'`
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function draftOf(value: unknown): string {
  return value === 'draft-7' || value === 'draft-8'
    ? value
    : value === true || value === 'draft-6'
      ? 'draft-6'
      : 'draft-10'
}
