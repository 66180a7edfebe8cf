import type { Template } from '@tidegate/http'
import {
  flag,
  invalid,
  optional,
  required,
  scalarText,
  status,
  text,
  unsupported,
  wholeNumber,
  withDefault,
} from '../argument.js'
import { defineFilter, type FilterContext } from '../filter.js'
import { resolverName, USUAL_RESOLVERS } from '../key-resolvers.js'

/** Spring's default resolver, which counts by the authenticated user. The gateway does not know users. */
const SPRING_DEFAULT_RESOLVER = 'principalNameKeyResolver'

const BUCKET4J = unsupported('is not supported; use redis-rate-limiter.* or TokenBucketRateLimiter')

/** Spring's own limiter, which is a token bucket. */
export const RequestRateLimiter = defineFilter({
  example:
    '{ name: RequestRateLimiter, args: { redis-rate-limiter.replenishRate: 10, redis-rate-limiter.burstCapacity: 20, key-resolver: "#{@userKeyResolver}" } }',
  args: {
    'redis-rate-limiter.replenishRate': required(wholeNumber(1)),
    'redis-rate-limiter.burstCapacity': optional(burstCapacity),
    'redis-rate-limiter.requestedTokens': withDefault(wholeNumber(1), 1),
    'key-resolver': withDefault(resolverName, SPRING_DEFAULT_RESOLVER),
    'deny-empty-key': withDefault(flag, true),
    'empty-key-status': withDefault(status(400, 599), 403),
    'status-code': optional(status(400, 599)),
    'rate-limiter': unsupported(
      'is not supported, because the gateway has no beans; use redis-rate-limiter.*, TokenBucketRateLimiter or RateLimiter',
    ),
    'route-id': unsupported(
      'is not supported: each route has its own limit; use RateLimiter with a policy of the file',
    ),
    'bucket4j-rate-limiter.capacity': BUCKET4J,
    'bucket4j-rate-limiter.refillTokens': BUCKET4J,
    'bucket4j-rate-limiter.refillPeriod': BUCKET4J,
    'bucket4j-rate-limiter.refillStyle': BUCKET4J,
    'bucket4j-rate-limiter.requestedTokens': BUCKET4J,
    onStoreFailure: optional(text),
    instances: optional(wholeNumber(1)),
  },
  shortcut: [],
  make(args, site) {
    const key = keyOf(args['key-resolver'], site)
    const refillRate = args['redis-rate-limiter.replenishRate']
    const burst = args['redis-rate-limiter.burstCapacity']
    // As in Spring, the default is 1, also for a higher rate.
    const capacity = burst ?? 1
    const cost = args['redis-rate-limiter.requestedTokens']
    if (burst !== undefined && burst < refillRate) {
      throw invalid(
        `must be at least replenishRate (${refillRate}), got ${burst}`,
        'redis-rate-limiter.burstCapacity',
      )
    }
    if (cost > capacity) {
      throw invalid(
        `must be at most burstCapacity (${capacity}), got ${cost}: every request would be denied`,
        'redis-rate-limiter.requestedTokens',
      )
    }
    const { onStoreFailure, instances } = args
    const policy = site.ownPolicy('requests', {
      algorithm: 'token-bucket',
      capacity,
      refillRate,
      ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
      ...(instances === undefined ? {} : { instances }),
    })
    const emptyKeyStatus = args['empty-key-status']
    const limit = { policy, key, cost }
    const denialStatus = args['status-code']
    return {
      limits: [args['deny-empty-key'] ? { ...limit, emptyKeyStatus } : limit],
      ...(denialStatus === undefined ? {} : { denialStatus }),
    }
  },
})

/**
 * The key of the named resolver. A Spring file may name a bean of the application, or no resolver. Such a limit counts by
 * the client's address or the path, with a warning.
 */
function keyOf(name: string, site: FilterContext): Template {
  if (site.hasResolver(name)) return site.resolverNamed(name)
  const isUnnamed = name === SPRING_DEFAULT_RESOLVER
  const usual = isUnnamed ? USUAL_RESOLVERS.get('ipKeyResolver') : USUAL_RESOLVERS.get(name)
  if (site.isSpring && usual !== undefined) {
    const counted = usual.text.includes('path') ? 'the path' : "the client's address"
    const reason = isUnnamed
      ? `the default bean of Spring is not available, so ${counted} is counted`
      : `the bean ${name} is not available; judging by its name, ${counted} is counted`
    site.warn(
      `RequestRateLimiter: ${reason}. To choose another key, write gateway: { keyResolvers: { ${name}: header.x-user-id } }`,
    )
    return usual
  }
  if (isUnnamed) {
    throw invalid(
      'is missing; the gateway has no authenticated user to count. Write for example key-resolver: "#{@userKeyResolver}"',
      'key-resolver',
    )
  }
  return site.resolverNamed(name)
}

function burstCapacity(value: unknown): number {
  const digits = scalarText(value)
  if (digits !== '' && Number(digits) === 0) {
    throw invalid('must not be 0, which denies every request; to deny all, use SetStatus with uri: no://op')
  }
  return wholeNumber(1)(value)
}
