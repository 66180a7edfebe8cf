import { formatValue } from '../../../config-file/value-kinds.js'
import { duration, invalid, optional, text, wholeNumber, withDefault } from '../argument.js'
import { defineFilter, type FilterContext } from '../filter.js'
import { resolverName, USER_KEY_RESOLVER } from '../key-resolvers.js'

const MAX_SLOTS = 100_000
/** The arguments that define a policy of the route. */
const OWN_NUMBERS = ['limit', 'ttl', 'onStoreFailure', 'instances'] as const

interface Args {
  readonly policy: string | undefined
  readonly limit: number | undefined
  readonly ttl: number | string | undefined
  readonly onStoreFailure: string | undefined
  readonly instances: number | undefined
}

/**
 * Limits the requests in flight: acquires a slot before a request is forwarded, and releases it when the response has
 * ended or the client has disconnected. Uses a concurrency policy of the file, or its own numbers.
 */
export const ConcurrencyLimiter = defineFilter({
  example: '{ name: ConcurrencyLimiter, args: { limit: 10 } }',
  args: {
    policy: optional(text),
    limit: optional(wholeNumber(1, MAX_SLOTS)),
    ttl: optional(duration),
    'key-resolver': withDefault(resolverName, USER_KEY_RESOLVER),
    onStoreFailure: optional(text),
    instances: optional(wholeNumber(1)),
  },
  shortcut: ['policy'],
  make(args, site) {
    const key = site.resolverNamed(args['key-resolver'])
    return { limits: [{ policy: policyOf(args, site), key, cost: 1 }] }
  },
})

function policyOf({ policy: name, ...args }: Args, site: FilterContext) {
  if (name === undefined) {
    if (args.limit === undefined) throw invalid('is missing; write for example limit: 10', 'limit')
    const numbers = OWN_NUMBERS.map((field) => [field, args[field]]).filter(
      ([, value]) => value !== undefined,
    )
    return site.ownPolicy('concurrency', { algorithm: 'concurrency', ...Object.fromEntries(numbers) })
  }
  const other = OWN_NUMBERS.find((field) => args[field] !== undefined)
  if (other !== undefined)
    throw invalid('must not be used together with policy; write it in the policy, or remove policy', other)
  const policy = site.policyNamed(name)
  if (policy.algorithm === 'concurrency') return policy
  throw invalid(
    `${formatValue(name)} is a ${policy.algorithm} policy; use RateLimiter, or a policy with algorithm: concurrency`,
    'policy',
  )
}
