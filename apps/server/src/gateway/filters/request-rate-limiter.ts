import { flag, optional, refused, required, status, text, unfit, whole, withDefault } from '../argument.js'
import { defineFilter } from '../filter.js'
import { resolverName } from '../key-resolvers.js'

/** What Spring falls back on: the user that is signed in, whom a gateway without sign-in does not know. */
const SPRINGS_OWN_RESOLVER = 'principalNameKeyResolver'

const BUCKET4J = refused('is not supported; use redis-rate-limiter.* or TokenBucketRateLimiter')

/** Spring's own limiter, which is a token bucket. */
export const RequestRateLimiter = defineFilter({
  example:
    '{ name: RequestRateLimiter, args: { redis-rate-limiter.replenishRate: 10, redis-rate-limiter.burstCapacity: 20, key-resolver: "#{@userKeyResolver}" } }',
  args: {
    'redis-rate-limiter.replenishRate': required(whole(1)),
    'redis-rate-limiter.burstCapacity': optional(burstCapacity),
    'redis-rate-limiter.requestedTokens': withDefault(whole(1), 1),
    'key-resolver': withDefault(resolverName, SPRINGS_OWN_RESOLVER),
    'deny-empty-key': withDefault(flag, true),
    'empty-key-status': withDefault(status(400, 599), 403),
    'status-code': optional(status(400, 599)),
    'rate-limiter': refused(
      'is not supported: beans are not known here; use redis-rate-limiter.*, TokenBucketRateLimiter or RateLimiter',
    ),
    'route-id': refused(
      'is not supported: each route counts by itself; use RateLimiter with a policy of the file',
    ),
    'bucket4j-rate-limiter.capacity': BUCKET4J,
    'bucket4j-rate-limiter.refillTokens': BUCKET4J,
    'bucket4j-rate-limiter.refillPeriod': BUCKET4J,
    'bucket4j-rate-limiter.refillStyle': BUCKET4J,
    'bucket4j-rate-limiter.requestedTokens': BUCKET4J,
    onStoreFailure: optional(text),
    instances: optional(whole(1)),
  },
  shortcut: [],
  make(args, site) {
    const resolver = args['key-resolver']
    if (resolver === SPRINGS_OWN_RESOLVER && !site.hasResolver(resolver)) {
      throw unfit(
        'is missing, and the user who is signed in is not known here; write for example key-resolver: "#{@userKeyResolver}"',
        'key-resolver',
      )
    }
    const refillRate = args['redis-rate-limiter.replenishRate']
    const burst = args['redis-rate-limiter.burstCapacity']
    // As in Spring: below the rate only where it is left out.
    const capacity = burst ?? 1
    const cost = args['redis-rate-limiter.requestedTokens']
    if (burst !== undefined && burst < refillRate) {
      throw unfit('must not be below replenishRate', 'redis-rate-limiter.burstCapacity')
    }
    if (cost > capacity) {
      throw unfit(
        'is more than burstCapacity, so every request would be refused',
        'redis-rate-limiter.requestedTokens',
      )
    }
    const key = site.resolverNamed(resolver)
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
    const refusalStatus = args['status-code']
    return {
      limits: [args['deny-empty-key'] ? { ...limit, emptyKeyStatus } : limit],
      ...(refusalStatus === undefined ? {} : { refusalStatus }),
    }
  },
})

function burstCapacity(value: unknown): number {
  if (Number(value) === 0 && value !== '' && value !== null) {
    throw unfit(
      'is not supported as 0, which refuses every request; to do that, use SetStatus with uri: no://op',
    )
  }
  return whole(1)(value)
}
