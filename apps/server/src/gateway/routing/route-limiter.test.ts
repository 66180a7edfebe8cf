import { type Decision, fixedWindow, MemoryStore, type Store, withFallback } from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gatewayRequest } from '../../../test/gateway-request.js'
import { configErrorsIn, fileOf, gatewayOf, routerOf } from '../../../test/gateway-routes.js'
import type { GatewayRequest, Route, RouteDecision } from '../route.js'
import { compileRoutes } from './compile-routes.js'
import type { Router } from './router.js'

async function decide(router: Router<Route>, request: GatewayRequest): Promise<RouteDecision> {
  return router.find(request)!.limiter!(request)
}

/** The decisions about these requests, one after another. */
async function decideAll(
  router: Router<Route>,
  requests: readonly GatewayRequest[],
): Promise<RouteDecision[]> {
  const decisions: RouteDecision[] = []
  for (const request of requests) decisions.push(await decide(router, request))
  return decisions
}

function by(
  user: string | undefined,
  target = '/api/test',
  more: Record<string, string> = {},
): GatewayRequest {
  return gatewayRequest({
    target,
    headers: { ...(user === undefined ? {} : { 'x-user-id': user }), ...more },
  })
}

const statusOf = ({ denial }: RouteDecision) => denial?.status ?? 200

describe.each([
  ['FixedWindowRateLimiter', 'limit: 3, windowSeconds: 60', 'one-fixed-window'],
  ['SlidingWindowLogRateLimiter', 'limit: 3, windowSeconds: 60', 'one-sliding-window-log'],
  ['SlidingWindowCounterRateLimiter', 'limit: 3, windowSeconds: 60', 'one-sliding-window-counter'],
  ['TokenBucketRateLimiter', 'capacity: 3, refillRate: 1', 'one-token-bucket'],
  ['LeakyBucketRateLimiter', 'capacity: 3, leakRate: 1', 'one-leaky-bucket'],
])('%s', (name, args, policy) => {
  it('allows the limit per user, denies the next request, and does not affect other users', async () => {
    const { router } = routerOf(fileOf(['Path=/api/**'], [`{ name: ${name}, args: { ${args} } }`]))
    const passed = await decideAll(
      router,
      [1, 2, 3].map(() => by('user123')),
    )
    expect(passed.map(statusOf)).toStrictEqual([200, 200, 200])
    expect(passed.map(({ headers }) => headers['x-ratelimit-remaining'])).toStrictEqual(['2', '1', '0'])
    const denied = await decide(router, by('user123'))
    expect(denied.denial).toMatchObject({ status: 429, contentType: 'application/json' })
    expect(JSON.parse(denied.denial!.body)).toMatchObject({ error: 'rate_limit_exceeded' })
    expect(denied.headers).toMatchObject({ 'x-ratelimit-limit': '3', 'cache-control': 'no-store' })
    expect(Number(denied.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(denied.headers.ratelimit).toContain(`"${policy}"`)
    expect(statusOf(await decide(router, by('user456')))).toBe(200)
  })

  it('counts all requests without the header under one key of their own', async () => {
    const { router } = routerOf(fileOf(['Path=/api/**'], [`{ name: ${name}, args: { ${args} } }`]))
    expect(
      (
        await decideAll(
          router,
          [1, 2, 3, 4].map(() => by(undefined)),
        )
      ).map(statusOf),
    ).toStrictEqual([200, 200, 200, 429])
    expect(statusOf(await decide(router, by('anonymous')))).toBe(200)
  })

  it('has the documented defaults', () => {
    const [policy] = gatewayOf(fileOf(['Path=/**'], [name])).policies
    const { limit, window, refillRate, leakRate } = policy as unknown as Record<string, unknown>
    expect(limit).toBe(100)
    expect(window ?? refillRate ?? leakRate).toBe(name.includes('Window') ? 3_600_000 : 10)
  })
})

/** Three limits that every request must pass: all users together, each user, and one endpoint. */
const THREE_LEVELS = `
policies:
  everybody: { algorithm: fixed-window, limit: 6, window: 1h }
  each-user: { algorithm: fixed-window, limit: 4, window: 1h }
  search:    { algorithm: fixed-window, limit: 2, window: 1h }
rules:
  - { name: everybody, key: all, policy: everybody }
  - { name: each user, key: "user:{header.x-user-id | 'anonymous'}", policy: each-user }
  - { name: search, match: { path: /api/search }, key: "user:{header.x-user-id | 'anonymous'}:/api/search", policy: search }
gateway:
  defaultFilters:
    - { name: RateLimiter, args: { rules: [everybody, each user, search] } }
  routes:
    - { id: api, uri: "http://127.0.0.1:1", predicates: [Path=/api/**] }
    - { id: other, uri: "http://127.0.0.1:1", predicates: [Path=/other/**] }
`

describe('three levels of limits', () => {
  it('decide together: if one limit denies, the others are not charged', async () => {
    const { router } = routerOf(THREE_LEVELS)
    const rows: [user: string, target: string, status: number, everybodyLeft: number | undefined][] = [
      ['alice', '/api/search', 200, 5],
      ['alice', '/api/search?again', 200, 4],
      // The endpoint denies: neither alice nor everybody is charged.
      ['alice', '/api/search', 429, 4],
      ['alice', '/api/SEARCH/', 429, 4],
      ['alice', '/api/list', 200, 3],
      ['alice', '/api/list', 200, 2],
      // The user's limit denies.
      ['alice', '/api/list', 429, 2],
      ['bob', '/api/search', 200, 1],
      // Another route counts by the same rule.
      ['bob', '/other/x', 200, 0],
      ['carol', '/other/x', 429, 0],
    ]
    const decisions = await decideAll(
      router,
      rows.map(([user, target]) => by(user, target)),
    )
    const seen = rows.map(([user, target], i) => {
      const decision = decisions[i]!
      const left = /"everybody";r=(\d+)/.exec(decision.headers.ratelimit!)?.[1]
      return [user, target, statusOf(decision), left === undefined ? undefined : Number(left)]
    })
    expect(seen).toStrictEqual(rows)
  })

  it('list the limits that deny in a problem document, if the client prefers one', async () => {
    const { router } = routerOf(THREE_LEVELS)
    const request = by('alice', '/api/search', { accept: 'application/problem+json' })
    await decideAll(router, [request, request])
    const { denial } = await decide(router, request)
    expect(denial!.contentType).toBe('application/problem+json')
    expect(JSON.parse(denial!.body)).toMatchObject({
      status: 429,
      instance: '/api/search',
      'violated-policies': ['search'],
    })
  })
})

describe('the limits of a route', () => {
  it('report each decision of each limit, for metrics', async () => {
    const reported: Decision[] = []
    const keys: string[] = []
    const { router } = routerOf(THREE_LEVELS, ({ key, decision }, seconds) => {
      expect(seconds).toBeGreaterThanOrEqual(0)
      reported.push(decision)
      keys.push(key)
    })
    await decide(router, by('alice', '/api/search'))
    await decide(router, by('alice', '/api/list'))
    expect(reported.map(({ policy }) => policy)).toStrictEqual([
      ...['everybody', 'each-user', 'search'],
      ...['everybody', 'each-user'],
    ])
    expect(keys).toHaveLength(5)
    expect(keys[0]).toBe('all')
    expect(keys[1]).toContain('alice')
  })

  it('are undefined for a route without a limiter', () => {
    const { router } = routerOf(fileOf(['Path=/**'], ['StripPrefix=1']))
    expect(router.find(gatewayRequest())!.limiter).toBeUndefined()
  })

  it('hold requests of a leaky bucket with a queue, to release them at the leak rate', async () => {
    const args = 'capacity: 3, leakRate: 10, queue: true'
    const { router } = routerOf(fileOf(['Path=/**'], [`{ name: LeakyBucketRateLimiter, args: { ${args} } }`]))
    const decisions = await decideAll(
      router,
      [1, 2, 3, 4].map(() => by('a')),
    )
    expect(decisions.map(statusOf)).toStrictEqual([200, 200, 200, 429])
    expect(decisions.map(({ holdMs }) => holdMs)).toStrictEqual([0, 100, 200, 0])
  })

  it('hold no requests without a queue', async () => {
    const { router } = routerOf(fileOf(['Path=/**'], ['LeakyBucketRateLimiter=3, 10']))
    expect(
      (
        await decideAll(
          router,
          [1, 2, 3].map(() => by('a')),
        )
      ).map(({ holdMs }) => holdMs),
    ).toStrictEqual([0, 0, 0])
  })

  it('apply the cost and the status of RequestRateLimiter', async () => {
    const args =
      'redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: 60, redis-rate-limiter.requestedTokens: 25, key-resolver: "#{@userKeyResolver}", status-code: SERVICE_UNAVAILABLE'
    const { router } = routerOf(fileOf(['Path=/**'], [`{ name: RequestRateLimiter, args: { ${args} } }`]))
    const request = by('a', '/', { accept: 'application/problem+json' })
    const decisions = await decideAll(
      router,
      [1, 2, 3].map(() => request),
    )
    expect(decisions.map(statusOf)).toStrictEqual([200, 200, 503])
    expect(decisions.map(({ headers }) => headers['x-ratelimit-remaining'])).toStrictEqual(['35', '10', '10'])
    expect(JSON.parse(decisions[2]!.denial!.body)).toMatchObject({ status: 503 })
  })

  it('allow bursts of 1 for a RequestRateLimiter without burstCapacity, as in Spring', async () => {
    const args = 'redis-rate-limiter.replenishRate: 10, key-resolver: "#{@userKeyResolver}"'
    const { router } = routerOf(fileOf(['Path=/**'], [`{ name: RequestRateLimiter, args: { ${args} } }`]))
    expect(
      (
        await decideAll(
          router,
          [1, 2].map(() => by('a')),
        )
      ).map(statusOf),
    ).toStrictEqual([200, 429])
  })

  it('reject a request without a key as in Spring, without counting it', async () => {
    const args =
      'redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: 1, key-resolver: "#{@tenant}"'
    const file = (more: string) =>
      `${fileOf(['Path=/**'], ['FixedWindowRateLimiter', `{ name: RequestRateLimiter, args: { ${args}${more} } }`])}  keyResolvers: { tenant: header.x-tenant }\n`
    const reported: Decision[] = []
    const note = ({ decision }: { decision: Decision }) => void reported.push(decision)
    const denying = await decide(routerOf(file(''), note).router, by('a'))
    expect(statusOf(denying)).toBe(403)
    expect(JSON.parse(denying.denial!.body).error).toBe('rate_limit_key_missing')
    expect(statusOf(await decide(routerOf(file(', empty-key-status: 401'), note).router, by('a')))).toBe(401)
    expect(reported).toStrictEqual([])
    // Otherwise the other limits of the route count it.
    expect(statusOf(await decide(routerOf(file(', deny-empty-key: false'), note).router, by('a')))).toBe(200)
    expect(reported.map(({ policy }) => policy)).toStrictEqual(['one-fixed-window'])
  })

  it('accept the route as a part of the key', async () => {
    const file = (id: string) =>
      `    - { id: ${id}, uri: "http://127.0.0.1:1", predicates: [Path=/${id}], filters: [{ name: RateLimiter, args: { policy: p, key-resolver: by-route } }] }`
    const { router, store } = routerOf(
      [
        'policies: { p: { algorithm: fixed-window, limit: 1, window: 1h } }',
        'gateway:',
        '  keyResolvers: { by-route: route }',
        '  routes:',
        file('first'),
        file('second'),
      ].join('\n'),
    )
    const decisions = await decideAll(
      router,
      ['/first', '/first', '/second'].map((target) => by('a', target)),
    )
    const statuses = decisions.map(statusOf)
    expect(statuses).toStrictEqual([200, 429, 200])
    const policy = fixedWindow({ name: 'p', limit: 1, window: '1h' })
    expect(store.peek({ policy, key: 'first', cost: 1 }).allowed).toBe(false)
  })

  it('with a failing store: closed responds with 503, open allows with a header', async () => {
    const lost = new Proxy(new MemoryStore(), {
      get: (store, name) => {
        if (name === 'traits') return undefined
        const value: unknown = Reflect.get(store, name)
        if (name !== 'check' && name !== 'take')
          return typeof value === 'function' ? value.bind(store) : value
        return () => Promise.reject(new Error('lost'))
      },
    }) as Store
    const reported: (string | undefined)[] = []
    const decisions = await Promise.all(
      ['closed', 'open'].map(async (mode) => {
        const file = fileOf(
          ['Path=/**'],
          [`{ name: FixedWindowRateLimiter, args: { on-store-failure: ${mode} } }`],
        )
        const router = compileRoutes(gatewayOf(file), withFallback(lost), ({ decision }) =>
          reported.push(decision.degraded),
        )
        return router.find(by('a'))!.limiter!(by('a'))
      }),
    )
    expect(decisions.map(statusOf)).toStrictEqual([503, 200])
    expect(decisions.map(({ headers }) => headers['x-ratelimit-degraded'])).toStrictEqual(['closed', 'open'])
    expect(reported.sort()).toStrictEqual(['closed', 'open'])
    expect(JSON.parse(decisions[0]!.denial!.body)).toMatchObject({ error: 'rate_limiter_unavailable' })
  })
})

it('any combination of limiters on one route decides every request', async () => {
  const filters = [
    'FixedWindowRateLimiter',
    'SlidingWindowLogRateLimiter=1, 5',
    'TokenBucketRateLimiter=1, 1/1d',
    '{ name: LeakyBucketRateLimiter, args: { capacity: 5, leakRate: 1, queue: true } }',
    '{ name: LeakyBucketRateLimiter, args: { capacity: 100000, leakRate: 1, key-resolver: tenant } }',
    'RateLimiter',
    'RateLimiter=small',
    '{ name: RateLimiter, args: { policy: small, key-resolver: tenant } }',
    '{ name: RateLimiter, args: { policy: slow, key-resolver: tenant } }',
    '{ name: RateLimiter, args: { rules: [one, two] } }',
    '{ name: RateLimiter, args: { rules: [three] } }',
    '{ name: RequestRateLimiter, args: { redis-rate-limiter.replenishRate: 1, key-resolver: tenant } }',
    '{ name: RequestRateLimiter, args: { redis-rate-limiter.replenishRate: 2, redis-rate-limiter.burstCapacity: 3, redis-rate-limiter.requestedTokens: 3, key-resolver: tenant, deny-empty-key: false, status-code: 503 } }',
  ]
  const around = `
policies:
  small: { algorithm: fixed-window, limit: 2, window: 1m }
  slow: { algorithm: leaky-bucket, capacity: 1000, leakRate: 1/1h }
rules:
  - { name: one, key: a, policy: small }
  - { name: two, key: a, policy: small, cost: 2 }
  - { name: three, match: { methods: [POST] }, key: "{header.x-user-id | ip}", policy: small }
`
  const requests = [
    by('a'),
    by(undefined),
    by('a', '/', { 'x-tenant': 'a' }),
    gatewayRequest({ method: 'POST' }),
  ]
  let decisionCount = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...filters), { maxLength: 4 }), async (chosen) => {
      const text = `${around}${fileOf(['Path=/**'], chosen)}  keyResolvers: { tenant: header.x-tenant }\n`
      if (configErrorsIn(text).length > 0) return
      const { router } = routerOf(text)
      for (const request of [...requests, ...requests]) {
        const { limiter: limit } = router.find(request)!
        if (limit === undefined) continue
        expect([200, 403, 429, 503]).toContain(statusOf(await limit(request)))
        decisionCount++
      }
    }),
    { seed: 8, numRuns: 400 },
  )
  expect(decisionCount).toBeGreaterThan(500)
})
