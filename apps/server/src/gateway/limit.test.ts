import { type Decision, fixedWindow, MemoryStore, type Store, withFallback } from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fileOf, gatewayOf, mistakesIn, routerOf } from '../../test/gateway-config.js'
import { gatewayRequest } from '../../test/gateway-request.js'
import { compileRoutes } from './compile.js'
import type { GatewayRequest, Route, Ruling } from './route.js'
import type { Router } from './router.js'

async function ruled(router: Router<Route>, request: GatewayRequest): Promise<Ruling> {
  return router.find(request)!.limit!(request)
}

/** The rulings about these requests, one after another. */
async function allRuled(router: Router<Route>, requests: readonly GatewayRequest[]): Promise<Ruling[]> {
  const rulings: Ruling[] = []
  for (const request of requests) rulings.push(await ruled(router, request))
  return rulings
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

const statusOf = ({ refusal }: Ruling) => refusal?.status ?? 200

describe.each([
  ['FixedWindowRateLimiter', 'limit: 3, windowSeconds: 60', 'one-fixed-window'],
  ['SlidingWindowLogRateLimiter', 'limit: 3, windowSeconds: 60', 'one-sliding-window-log'],
  ['SlidingWindowCounterRateLimiter', 'limit: 3, windowSeconds: 60', 'one-sliding-window-counter'],
  ['TokenBucketRateLimiter', 'capacity: 3, refillRate: 1', 'one-token-bucket'],
  ['LeakyBucketRateLimiter', 'capacity: 3, leakRate: 1', 'one-leaky-bucket'],
])('%s', (name, args, policy) => {
  it('allows its number of requests per user, denies the next, and leaves other users alone', async () => {
    const { router } = routerOf(fileOf(['Path=/api/**'], [`{ name: ${name}, args: { ${args} } }`]))
    const passed = await allRuled(
      router,
      [1, 2, 3].map(() => by('user123')),
    )
    expect(passed.map(statusOf)).toStrictEqual([200, 200, 200])
    expect(passed.map(({ headers }) => headers['x-ratelimit-remaining'])).toStrictEqual(['2', '1', '0'])
    const refused = await ruled(router, by('user123'))
    expect(refused.refusal).toMatchObject({ status: 429, contentType: 'application/json' })
    expect(JSON.parse(refused.refusal!.body)).toMatchObject({ error: 'rate_limit_exceeded' })
    expect(refused.headers).toMatchObject({ 'x-ratelimit-limit': '3', 'cache-control': 'no-store' })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(refused.headers.ratelimit).toContain(`"${policy}"`)
    expect(statusOf(await ruled(router, by('user456')))).toBe(200)
  })

  it('counts everybody without the header as one, who is none of the users', async () => {
    const { router } = routerOf(fileOf(['Path=/api/**'], [`{ name: ${name}, args: { ${args} } }`]))
    expect(
      (
        await allRuled(
          router,
          [1, 2, 3, 4].map(() => by(undefined)),
        )
      ).map(statusOf),
    ).toStrictEqual([200, 200, 200, 429])
    expect(statusOf(await ruled(router, by('anonymous')))).toBe(200)
  })

  it('has the numbers of its authors by default', () => {
    const [policy] = gatewayOf(fileOf(['Path=/**'], [name])).policies
    const { limit, window, refillRate, leakRate } = policy as unknown as Record<string, unknown>
    expect(limit).toBe(100)
    expect(window ?? refillRate ?? leakRate).toBe(name.includes('Window') ? 3_600_000 : 10)
  })
})

/** Everybody, each user, and one endpoint: three levels of which every request must pass all. */
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
  it('are one decision: what one refuses, no other has counted', async () => {
    const { router } = routerOf(THREE_LEVELS)
    const rows: [user: string, target: string, status: number, everybodyLeft: number | undefined][] = [
      ['alice', '/api/search', 200, 5],
      ['alice', '/api/search?again', 200, 4],
      // The endpoint refuses: neither alice nor everybody is charged.
      ['alice', '/api/search', 429, 4],
      ['alice', '/api/SEARCH/', 429, 4],
      ['alice', '/api/list', 200, 3],
      ['alice', '/api/list', 200, 2],
      // Now the user's level does.
      ['alice', '/api/list', 429, 2],
      ['bob', '/api/search', 200, 1],
      // The same everybody on another route.
      ['bob', '/other/x', 200, 0],
      ['carol', '/other/x', 429, 0],
    ]
    const rulings = await allRuled(
      router,
      rows.map(([user, target]) => by(user, target)),
    )
    const seen = rows.map(([user, target], i) => {
      const ruling = rulings[i]!
      const left = /"everybody";r=(\d+)/.exec(ruling.headers.ratelimit!)?.[1]
      return [user, target, statusOf(ruling), left === undefined ? undefined : Number(left)]
    })
    expect(seen).toStrictEqual(rows)
  })

  it('name the limits that refuse, in a problem if the client likes that better', async () => {
    const { router } = routerOf(THREE_LEVELS)
    const asked = by('alice', '/api/search', { accept: 'application/problem+json' })
    await allRuled(router, [asked, asked])
    const { refusal } = await ruled(router, asked)
    expect(refusal!.contentType).toBe('application/problem+json')
    expect(JSON.parse(refusal!.body)).toMatchObject({
      status: 429,
      instance: '/api/search',
      'violated-policies': ['search'],
    })
  })
})

describe('the limits of a route', () => {
  it('tell each decision of each limit, for metrics', async () => {
    const told: Decision[] = []
    const keys: string[] = []
    const { router } = routerOf(THREE_LEVELS, ({ key, decision }, seconds) => {
      expect(seconds).toBeGreaterThanOrEqual(0)
      told.push(decision)
      keys.push(key)
    })
    await ruled(router, by('alice', '/api/search'))
    await ruled(router, by('alice', '/api/list'))
    expect(told.map(({ policy }) => policy)).toStrictEqual([
      ...['everybody', 'each-user', 'search'],
      ...['everybody', 'each-user'],
    ])
    expect(keys).toHaveLength(5)
    expect(keys[0]).toBe('all')
    expect(keys[1]).toContain('alice')
  })

  it('are none for a route without a limiter', () => {
    const { router } = routerOf(fileOf(['Path=/**'], ['StripPrefix=1']))
    expect(router.find(gatewayRequest())!.limit).toBeUndefined()
  })

  it('hold requests of a leaky bucket with a queue, so that they leave at the leak rate', async () => {
    const args = 'capacity: 3, leakRate: 10, queue: true'
    const { router } = routerOf(fileOf(['Path=/**'], [`{ name: LeakyBucketRateLimiter, args: { ${args} } }`]))
    const rulings = await allRuled(
      router,
      [1, 2, 3, 4].map(() => by('a')),
    )
    expect(rulings.map(statusOf)).toStrictEqual([200, 200, 200, 429])
    expect(rulings.map(({ holdMs }) => holdMs)).toStrictEqual([0, 100, 200, 0])
  })

  it('hold nothing without a queue', async () => {
    const { router } = routerOf(fileOf(['Path=/**'], ['LeakyBucketRateLimiter=3, 10']))
    expect(
      (
        await allRuled(
          router,
          [1, 2, 3].map(() => by('a')),
        )
      ).map(({ holdMs }) => holdMs),
    ).toStrictEqual([0, 0, 0])
  })

  it('take what RequestRateLimiter asks for, and answer with its status', async () => {
    const args =
      'redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: 60, redis-rate-limiter.requestedTokens: 25, key-resolver: "#{@userKeyResolver}", status-code: SERVICE_UNAVAILABLE'
    const { router } = routerOf(fileOf(['Path=/**'], [`{ name: RequestRateLimiter, args: { ${args} } }`]))
    const asked = by('a', '/', { accept: 'application/problem+json' })
    const rulings = await allRuled(
      router,
      [1, 2, 3].map(() => asked),
    )
    expect(rulings.map(statusOf)).toStrictEqual([200, 200, 503])
    expect(rulings.map(({ headers }) => headers['x-ratelimit-remaining'])).toStrictEqual(['35', '10', '10'])
    expect(JSON.parse(rulings[2]!.refusal!.body)).toMatchObject({ status: 503 })
  })

  it('take one at once by RequestRateLimiter without a burstCapacity, however many a second, as in Spring', async () => {
    const args = 'redis-rate-limiter.replenishRate: 10, key-resolver: "#{@userKeyResolver}"'
    const { router } = routerOf(fileOf(['Path=/**'], [`{ name: RequestRateLimiter, args: { ${args} } }`]))
    expect(
      (
        await allRuled(
          router,
          [1, 2].map(() => by('a')),
        )
      ).map(statusOf),
    ).toStrictEqual([200, 429])
  })

  it('refuse a request without a key as Spring does, and count nothing', async () => {
    const args =
      'redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: 1, key-resolver: "#{@tenant}"'
    const file = (more: string) =>
      `${fileOf(['Path=/**'], ['FixedWindowRateLimiter', `{ name: RequestRateLimiter, args: { ${args}${more} } }`])}  keyResolvers: { tenant: header.x-tenant }\n`
    const told: Decision[] = []
    const note = ({ decision }: { decision: Decision }) => void told.push(decision)
    const denying = await ruled(routerOf(file(''), note).router, by('a'))
    expect(statusOf(denying)).toBe(403)
    expect(JSON.parse(denying.refusal!.body).error).toBe('rate_limit_key_missing')
    expect(statusOf(await ruled(routerOf(file(', empty-key-status: 401'), note).router, by('a')))).toBe(401)
    expect(told).toStrictEqual([])
    // Otherwise the other limits of the route count it.
    expect(statusOf(await ruled(routerOf(file(', deny-empty-key: false'), note).router, by('a')))).toBe(200)
    expect(told.map(({ policy }) => policy)).toStrictEqual(['one-fixed-window'])
  })

  it('know the route by its id', async () => {
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
    const rulings = await allRuled(
      router,
      ['/first', '/first', '/second'].map((target) => by('a', target)),
    )
    const statuses = rulings.map(statusOf)
    expect(statuses).toStrictEqual([200, 429, 200])
    const policy = fixedWindow({ name: 'p', limit: 1, window: '1h' })
    expect(store.peek({ policy, key: 'first', cost: 1 }).allowed).toBe(false)
  })

  it('of another store that fails: closed is 503, open passes and says so', async () => {
    const lost = new Proxy(new MemoryStore(), {
      get: (store, name) => {
        if (name === 'traits') return undefined
        const value: unknown = Reflect.get(store, name)
        if (name !== 'check' && name !== 'take')
          return typeof value === 'function' ? value.bind(store) : value
        return () => Promise.reject(new Error('lost'))
      },
    }) as Store
    const told: (string | undefined)[] = []
    const rulings = await Promise.all(
      ['closed', 'open'].map(async (mode) => {
        const file = fileOf(
          ['Path=/**'],
          [`{ name: FixedWindowRateLimiter, args: { on-store-failure: ${mode} } }`],
        )
        const router = compileRoutes(gatewayOf(file), withFallback(lost), ({ decision }) =>
          told.push(decision.degraded),
        )
        return router.find(by('a'))!.limit!(by('a'))
      }),
    )
    expect(rulings.map(statusOf)).toStrictEqual([503, 200])
    expect(rulings.map(({ headers }) => headers['x-ratelimit-degraded'])).toStrictEqual(['closed', 'open'])
    expect(told.sort()).toStrictEqual(['closed', 'open'])
    expect(JSON.parse(rulings[0]!.refusal!.body)).toMatchObject({ error: 'rate_limiter_unavailable' })
  })
})

it('whatever limiters a file may put on one route, every request is decided', async () => {
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
  let decided = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...filters), { maxLength: 4 }), async (chosen) => {
      const text = `${around}${fileOf(['Path=/**'], chosen)}  keyResolvers: { tenant: header.x-tenant }\n`
      if (mistakesIn(text).length > 0) return
      const { router } = routerOf(text)
      for (const request of [...requests, ...requests]) {
        const { limit } = router.find(request)!
        if (limit === undefined) continue
        expect([200, 403, 429, 503]).toContain(statusOf(await limit(request)))
        decided++
      }
    }),
    { seed: 8, numRuns: 400 },
  )
  expect(decided).toBeGreaterThan(500)
})
