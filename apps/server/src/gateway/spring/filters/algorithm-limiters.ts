import { duration, flag, invalid, optional, rate, text, wholeNumber, withDefault } from '../argument.js'
import { defineFilter, type FilterContext, type FilterEffect } from '../filter.js'
import { resolverName, USER_KEY_RESOLVER } from '../key-resolvers.js'

/* One filter for each rate algorithm. Each defines a policy for its route. */

const common = {
  'key-resolver': withDefault(resolverName, USER_KEY_RESOLVER),
  blockFor: optional(duration),
  onStoreFailure: optional(text),
  instances: optional(wholeNumber(1)),
}
const DEFAULT_WINDOW_SECONDS = 3600
const windows = {
  limit: withDefault(wholeNumber(1), 100),
  windowSeconds: optional(wholeNumber(1, 31_622_400)),
  window: optional(duration),
  countDenied: optional(flag),
}
/** The largest limit of a fixed window. */
const MAX_FIXED_LIMIT = 999_999_999_999_999
const fixedWindows = {
  ...windows,
  limit: withDefault(wholeNumber(1, MAX_FIXED_LIMIT), 100),
  start: optional(text),
  timeZone: optional(text),
}

/** Defines a policy of the route with the options that are set. */
function ownLimit(
  site: FilterContext,
  kind: string,
  { 'key-resolver': resolver, ...options }: { readonly 'key-resolver': string },
): FilterEffect {
  const key = site.resolverNamed(resolver)
  const set = Object.entries(options).filter(([, value]) => value !== undefined)
  const policy = site.ownPolicy(kind, { algorithm: kind, ...Object.fromEntries(set) })
  return { limits: [{ policy, key, cost: 1 }] }
}

interface WindowArgs {
  readonly 'key-resolver': string
  readonly windowSeconds: number | undefined
  readonly window: number | string | undefined
}

function windowLimit(
  site: FilterContext,
  kind: string,
  { windowSeconds, window, ...args }: WindowArgs,
): FilterEffect {
  if (windowSeconds !== undefined && window !== undefined) {
    throw invalid('must not be used together with window; write one of the two', 'windowSeconds')
  }
  const ownWindow = window ?? (windowSeconds ?? DEFAULT_WINDOW_SECONDS) * 1000
  return ownLimit(site, kind, { ...args, window: ownWindow } as { 'key-resolver': string })
}

function slidingFilter(kind: 'sliding-window-log' | 'sliding-window-counter', name: string) {
  return defineFilter({
    example: `{ name: ${name}, args: { limit: 100, windowSeconds: 3600 } }`,
    args: { ...windows, ...common },
    shortcut: ['limit', 'windowSeconds'],
    make: (args, site) => windowLimit(site, kind, args),
  })
}

export const FixedWindowRateLimiter = defineFilter({
  example: '{ name: FixedWindowRateLimiter, args: { limit: 100, windowSeconds: 3600 } }',
  args: { ...fixedWindows, ...common },
  shortcut: ['limit', 'windowSeconds'],
  make: (args, site) => windowLimit(site, 'fixed-window', args),
})
export const SlidingWindowLogRateLimiter = slidingFilter('sliding-window-log', 'SlidingWindowLogRateLimiter')
export const SlidingWindowCounterRateLimiter = slidingFilter(
  'sliding-window-counter',
  'SlidingWindowCounterRateLimiter',
)

export const TokenBucketRateLimiter = defineFilter({
  example: '{ name: TokenBucketRateLimiter, args: { capacity: 100, refillRate: 10 } }',
  args: { capacity: withDefault(wholeNumber(1), 100), refillRate: withDefault(rate, 10), ...common },
  shortcut: ['capacity', 'refillRate'],
  make: (args, site) => ownLimit(site, 'token-bucket', args),
})

export const LeakyBucketRateLimiter = defineFilter({
  example: '{ name: LeakyBucketRateLimiter, args: { capacity: 100, leakRate: 10, queue: true } }',
  args: {
    capacity: withDefault(wholeNumber(1), 100),
    leakRate: withDefault(rate, 10),
    queue: withDefault(flag, false),
    ...common,
  },
  shortcut: ['capacity', 'leakRate'],
  make: ({ queue, ...args }, site) => ({ ...ownLimit(site, 'leaky-bucket', args), queue }),
})
