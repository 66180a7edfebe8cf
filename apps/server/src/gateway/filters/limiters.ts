import { flag, optional, rate, text, whole, withDefault } from '../argument.js'
import { type Contribution, defineFilter, type FilterSite } from '../filter.js'
import { resolverName, USER_KEY_RESOLVER } from '../key-resolvers.js'

/* The five, each with numbers of its own, counting on its route alone. */

const common = {
  'key-resolver': withDefault(resolverName, USER_KEY_RESOLVER),
  onStoreFailure: optional(text),
  instances: optional(whole(1)),
}
const windows = { limit: withDefault(whole(1), 100), windowSeconds: withDefault(whole(1, 31_622_400), 3600) }

interface Common {
  readonly 'key-resolver': string
  readonly onStoreFailure: string | undefined
  readonly instances: number | undefined
}

function limited(
  site: FilterSite,
  kind: string,
  { onStoreFailure, instances, ...common }: Common,
  numbers: Record<string, unknown>,
): Contribution {
  const key = site.resolverNamed(common['key-resolver'])
  const policy = site.ownPolicy(kind, {
    algorithm: kind,
    ...numbers,
    ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
    ...(instances === undefined ? {} : { instances }),
  })
  return { limits: [{ policy, key, cost: 1 }] }
}

function windowFilter(kind: 'fixed-window' | 'sliding-window-log' | 'sliding-window-counter', name: string) {
  return defineFilter({
    example: `{ name: ${name}, args: { limit: 100, windowSeconds: 3600 } }`,
    args: { ...windows, ...common },
    shortcut: ['limit', 'windowSeconds'],
    make: (args, site) => limited(site, kind, args, { limit: args.limit, window: args.windowSeconds * 1000 }),
  })
}

export const FixedWindowRateLimiter = windowFilter('fixed-window', 'FixedWindowRateLimiter')
export const SlidingWindowLogRateLimiter = windowFilter('sliding-window-log', 'SlidingWindowLogRateLimiter')
export const SlidingWindowCounterRateLimiter = windowFilter(
  'sliding-window-counter',
  'SlidingWindowCounterRateLimiter',
)

export const TokenBucketRateLimiter = defineFilter({
  example: '{ name: TokenBucketRateLimiter, args: { capacity: 100, refillRate: 10 } }',
  args: { capacity: withDefault(whole(1), 100), refillRate: withDefault(rate, 10), ...common },
  shortcut: ['capacity', 'refillRate'],
  make: (args, site) =>
    limited(site, 'token-bucket', args, { capacity: args.capacity, refillRate: args.refillRate }),
})

export const LeakyBucketRateLimiter = defineFilter({
  example: '{ name: LeakyBucketRateLimiter, args: { capacity: 100, leakRate: 10, queue: true } }',
  args: {
    capacity: withDefault(whole(1), 100),
    leakRate: withDefault(rate, 10),
    queue: withDefault(flag, false),
    ...common,
  },
  shortcut: ['capacity', 'leakRate'],
  make(args, site) {
    const numbers = { capacity: args.capacity, leakRate: args.leakRate }
    return { ...limited(site, 'leaky-bucket', args, numbers), queue: args.queue }
  },
})
