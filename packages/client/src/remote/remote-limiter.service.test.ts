import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createLimiter,
  type Decision,
  definePolicy,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { startServiceProcess } from '@tidegate/fixtures/service-process'
import { rateLimit } from '@tidegate/http/node'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordingFetch } from '../../test/calls.js'
import { policiesYaml, useService } from '../../test/use-service.js'
import { createRemoteLimiter, type RemoteLimiter } from './remote-limiter.js'
import { createRemoteStore } from './remote-store.js'

// Tests with the real service, started from its bin. Windows last for a year and buckets fill in years, so that no unit
// becomes available again during a test.

const policies: Policy[] = [
  fixedWindow({ limit: 10, window: '366d', name: 'fixed' }),
  slidingWindowLog({ limit: 10, window: '366d', name: 'log' }),
  slidingWindowCounter({ limit: 10, window: '366d', name: 'counter' }),
  tokenBucket({ capacity: 10, refillRate: '1/30d', name: 'token' }),
  leakyBucket({ capacity: 10, leakRate: '1/30d', name: 'leaky' }),
]
const hundred = fixedWindow({ limit: 100, window: '366d', name: 'hundred' })

const YAML = `
adminToken: the-admin-token-1
${policiesYaml([...policies, hundred])}
  quick: { algorithm: token-bucket, capacity: 3, refillRate: 2 }
callers:
  - { name: test, token: the-callers-token }
  - { name: narrow, token: the-narrow-token, keyPrefix: "narrow:", policies: [fixed] }
`

const service = useService(YAML)

/** The options of a client with all permissions. */
const allPermissions = () => ({
  url: service().url,
  token: 'the-callers-token',
  adminToken: 'the-admin-token-1',
  deadlineMs: 5000,
})
let keys = 0
const newKey = () => `user:${++keys}`

describe('decides like a limiter in this process:', () => {
  it.each(policies)('$algorithm', async (policy) => {
    const [key, local, remote] = [
      newKey(),
      createLimiter({ policy }),
      createRemoteLimiter({ ...allPermissions(), policy }),
    ]
    const reset = (key: string) => remote.reset(key).then(() => local.reset(key))
    for (const step of [
      ['check', 1],
      ['check', 4],
      ['peek', 5],
      ['peek', 6],
      ['check', 6],
      ['check', 5],
      ['check', 1],
      ['peek', 1],
      'reset',
      ['peek', 10],
      ['check', 10],
    ] as const) {
      if (step === 'reset') {
        await reset(key)
        continue
      }
      const [method, cost] = step
      const [decision, expected] = [await remote[method](key, cost), await local[method](key, cost)]
      expect(inSeconds(decision), `${method} ${cost}`).toStrictEqual(inSeconds(expected))
      // Rounded up to a second. A little time has passed between the two decisions.
      for (const field of ['retryAfterMs', 'resetAfterMs'] as const) {
        expect(decision[field] % 1000).toBe(0)
        expect(decision[field]).toBeGreaterThanOrEqual(expected[field] - 1000)
        expect(decision[field]).toBeLessThan(expected[field] + 2000)
      }
      expect(Math.abs(decision.timeMs - Date.now())).toBeLessThan(5000)
    }
  })

  /** The part of a decision that does not depend on the time between the two calls; a delay in whole days. */
  function inSeconds(decision: Decision): object {
    const { retryAfterMs: _, resetAfterMs: __, timeMs: ___, delayMs, ...rest } = decision
    return { ...rest, delayDays: Math.round(delayMs / 86_400_000) }
  }
})

it('takes one unit by default', async () => {
  const limiter = createRemoteLimiter({ ...allPermissions(), policy: hundred })
  expect(await limiter.check(newKey())).toMatchObject({ allowed: true, limit: 100, cost: 1, remaining: 99 })
  expect(limiter.policy).toBe(hundred)
})

it('retryAfterMs is never too short: denied before, allowed after', async () => {
  const limiter = createRemoteLimiter({ ...allPermissions(), policy: 'quick' })
  const key = newKey()
  await limiter.check(key, 3)
  const denied = await limiter.check(key)
  expect(denied).toMatchObject({ allowed: false, retryAfterMs: 1000, limit: 3 })
  await new Promise((resolve) => setTimeout(resolve, denied.retryAfterMs))
  expect((await limiter.check(key)).allowed).toBe(true)
})

it.each([
  ['a name', { policy: 'fixed' }, 'fixed', 10],
  ['a built-in by its algorithm', { algorithm: 'TOKEN_BUCKET' }, 'token_bucket', 100],
  ['a built-in by its name in the library', { algorithm: 'sliding-window-log' }, 'sliding_window', 100],
])('works without numbers: %s', async (_title, which, name, limit) => {
  const limiter = createRemoteLimiter({ ...allPermissions(), ...which })
  expect(limiter.policy).toBe(name)
  expect(await limiter.check(newKey())).toMatchObject({
    allowed: true,
    policy: name,
    limit,
    remaining: limit - 1,
  })
})

it.each(['__proto__', 'a&policy=fixed', 'a b+c%20d', 'ключ:名前:😀', '{}"\\', '?#/..'])(
  'counts the key %j separately',
  async (name) => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: hundred })
    const key = `${name}:${newKey()}`
    await limiter.check(key, 30)
    expect(await limiter.peek(key, 70)).toMatchObject({ allowed: true, remaining: 70 })
    await Promise.all([limiter.check(key, 30), limiter.check(key, 30)])
    expect(await limiter.peek(key)).toMatchObject({ remaining: 10 })
    await limiter.reset(key)
    expect(await limiter.peek(key)).toMatchObject({ remaining: 100 })
  },
)

describe('checks that arrive together', () => {
  it('are sent at once and as one call each, if they are alone', async () => {
    const { fetch, calls } = recordingFetch()
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: hundred, fetch })
    const key = newKey()
    await limiter.check(key, 2)
    expect(calls).toStrictEqual([{ path: 'check', body: { key, policy: 'hundred', permits: 2 } }])
  })

  it('are sent together, and each has its own decision', async () => {
    const { fetch, calls } = recordingFetch()
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: hundred, fetch })
    const own = Array.from({ length: 100 }, newKey)
    const decisions = await Promise.all(own.map((key, i) => limiter.check(key, i + 1)))
    expect(decisions.map(({ remaining, cost }) => remaining + cost)).toStrictEqual(Array(100).fill(100))
    expect(calls.map(({ path }) => path)).toStrictEqual(['check/batch'])
  })

  it('are batched while calls are pending, within the limit of the service', async () => {
    const { fetch, calls } = recordingFetch()
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: hundred, fetch, maxInFlight: 10_000 })
    await limiter.check(newKey())
    calls.length = 0
    const long = '名'.repeat(80)
    const checks = Array.from({ length: 7000 }, async (_, i) => {
      if (i >= 3500) await new Promise((resolve) => setImmediate(resolve))
      return limiter.check(`${long}${newKey()}`)
    })
    const decisions = await Promise.all(checks)
    expect(
      decisions.every(({ allowed, remaining, degraded }) => allowed && remaining === 99 && !degraded),
    ).toBe(true)
    const sizes = calls.map(({ body }) => (body as { checks: unknown[] }).checks.length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(7000)
    expect(Math.max(...sizes)).toBe(1000)
    expect(sizes.length).toBeLessThanOrEqual(10)
  })

  it('are decided exactly, for any number of clients', async () => {
    const limiters = Array.from({ length: 5 }, () =>
      createRemoteLimiter({ ...allPermissions(), policy: hundred }),
    )
    const key = newKey()
    const decisions = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => limiters[i % limiters.length]!.check(key)),
    )
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
    expect(decisions.every(({ degraded }) => degraded === undefined)).toBe(true)
  })

  it('are decided and counted once each, also if some of them are invalid', async () => {
    const { fetch, calls } = recordingFetch()
    const store = createRemoteStore({ ...allPermissions(), fetch })
    const unknown = fixedWindow({ limit: 100, window: '1m', name: 'unknown' })
    const key = newKey()
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, async (_, i) => {
        if (i % 10 === 3) return store.check({ policy: unknown, key, cost: 1 })
        if (i === 27 || i === 44) return store.check({ policy: hundred, key, cost: 101 })
        return store.check({ policy: hundred, key, cost: 1 })
      }),
    )
    const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code : 'decided'))
    expect(codes.filter((code) => code === 'POLICY_INVALID')).toHaveLength(6)
    expect([codes[27], codes[44]]).toStrictEqual(['COST_ABOVE_LIMIT', 'COST_ABOVE_LIMIT'])
    expect(codes.filter((code) => code === 'decided')).toHaveLength(52)
    expect(await store.peek({ policy: hundred, key, cost: 1 })).toMatchObject({ remaining: 48 })
    expect(calls.length).toBeLessThan(10)
  })

  it('are settled one by one if many of them are invalid', async () => {
    const store = createRemoteStore(allPermissions())
    const key = newKey()
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, async (_, i) =>
        store.check({ policy: hundred, key, cost: i % 2 === 0 ? 1 : 101 }),
      ),
    )
    for (const [i, { status }] of results.entries())
      expect(status).toBe(i % 2 === 0 ? 'fulfilled' : 'rejected')
    expect(await store.peek({ policy: hundred, key, cost: 1 })).toMatchObject({ remaining: 80 })
  })
})

describe('a take', () => {
  it('is all or nothing', async () => {
    const { store } = createRemoteLimiter({ ...allPermissions(), policy: hundred })
    const [key, ten] = [newKey(), policies[0]!]
    const take = (cost: number) =>
      store.take([
        { policy: hundred, key, cost },
        { policy: ten, key, cost },
        { policy: hundred, key, cost: 1 },
      ])
    expect(await take(9)).toMatchObject({
      allowed: true,
      decisions: [
        { cost: 9, remaining: 90, policy: 'hundred' },
        { cost: 9, remaining: 1, policy: 'fixed' },
        { cost: 1, remaining: 90 },
      ],
      retryAfterMs: 0,
    })
    const denied = await take(2)
    expect(denied).toMatchObject({
      allowed: false,
      decisions: [{ allowed: true, remaining: 90 }, { allowed: false }, {}],
    })
    expect(denied.retryAfterMs).toBeGreaterThan(1000)
    expect(await store.peek({ policy: hundred, key, cost: 1 })).toMatchObject({ remaining: 90 })
  })

  it('that is not valid is rejected', async () => {
    const { store } = createRemoteLimiter({ ...allPermissions(), policy: hundred })
    await expect(store.take([])).rejects.toMatchObject({ code: 'TAKE_INVALID' })
    const long = Array.from({ length: 1000 }, (_, i) => ({
      policy: hundred,
      key: '"'.repeat(250) + i,
      cost: 1,
    }))
    await expect(store.take(long)).rejects.toMatchObject({ code: 'TAKE_INVALID' })
  })
})

describe('invalid input has its code:', () => {
  const check = (options: object, key = 'k', cost = 1) =>
    createRemoteLimiter({ ...allPermissions(), ...options }).check(key, cost)
  it.each<[string, () => Promise<unknown>, string, string]>([
    ['an unknown policy', () => check({ policy: 'unknown' }), 'POLICY_INVALID', 'policy'],
    ['a cost above the limit', () => check({ policy: 'fixed' }, 'k', 11), 'COST_ABOVE_LIMIT', 'cost'],
    ['a cost of 0', () => check({ policy: 'fixed' }, 'k', 0), 'COST_INVALID', 'cost'],
    ['a cost of 0.5', () => check({ policy: 'fixed' }, 'k', 0.5), 'COST_INVALID', 'cost'],
    ['no key', () => check({ policy: 'fixed' }, ''), 'KEY_INVALID', 'key'],
    ['a key with a line break', () => check({ policy: 'fixed' }, 'a\nb'), 'KEY_INVALID', 'key'],
    ['no token', () => check({ policy: 'fixed', token: undefined }), 'ACCESS_DENIED', 'token'],
    ['a wrong token', () => check({ policy: 'fixed', token: 'guess' }), 'ACCESS_DENIED', 'token'],
    [
      "another caller's key",
      () => check({ policy: 'fixed', token: 'the-narrow-token' }),
      'ACCESS_DENIED',
      'key',
    ],
    [
      "another caller's policy",
      () => check({ policy: 'hundred', token: 'the-narrow-token' }, 'narrow:1'),
      'ACCESS_DENIED',
      'policy',
    ],
    [
      "a reset with a caller's token",
      () =>
        createRemoteLimiter({ url: service().url, policy: 'fixed', token: 'the-callers-token' }).reset('k'),
      'ACCESS_DENIED',
      'token',
    ],
    [
      'a refund without a time',
      async () =>
        createRemoteStore(allPermissions()).refund({
          policy: hundred,
          key: 'k',
          timeMs: Number.NaN,
          cost: 1,
        }),
      'REFUND_INVALID',
      'timeMs',
    ],
    [
      'a refund of more than the limit',
      async () =>
        createRemoteStore(allPermissions()).refund({ policy: hundred, key: 'k', timeMs: 1, cost: 101 }),
      'COST_ABOVE_LIMIT',
      'cost',
    ],
  ])('%s', async (_title, ask, code, field) => {
    await expect(ask()).rejects.toMatchObject({ name: 'TidegateError', code, field })
  })

  it('and does not open the circuit breaker', async () => {
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: 'fixed' })
    for (let i = 0; i < 30; i++) await expect(limiter.check('k', 11)).rejects.toMatchObject({ field: 'cost' })
    expect((await limiter.peek(newKey())).degraded).toBeUndefined()
  })
})

it('without a token names the options that set it', async () => {
  const limiter = createRemoteLimiter({ ...allPermissions(), token: undefined, policy: 'fixed' })
  await expect(limiter.check('k')).rejects.toThrow(/Missing token; .* Set the option token, or adminToken/)
})

it("uses the service's numbers, not its own", async () => {
  const old = definePolicy({ ...hundred, limit: 5 })
  const limiter = createRemoteLimiter({ ...allPermissions(), policy: old })
  expect(await limiter.check(newKey(), 50)).toMatchObject({ allowed: true, limit: 100, remaining: 50 })
})

describe('works as the limiter of a middleware:', () => {
  it.each<[string, () => RemoteLimiter, string]>([
    [
      'with numbers',
      () => createRemoteLimiter({ ...allPermissions(), policy: policies[0]! }),
      '"fixed";q=10;w=31622400',
    ],
    ['with a name', () => createRemoteLimiter({ ...allPermissions(), policy: 'fixed' }), '"fixed";q=10'],
  ])('%s', async (_title, make, policyShown) => {
    const key = newKey()
    const limited = rateLimit({ limiter: make(), key: () => key, cost: 5 })((_request, response) =>
      response.end('in'),
    )
    const server = createServer(limited).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const responses: Response[] = []
    for (let i = 0; i < 3; i++) {
      responses.push(await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`))
    }
    expect(responses.map(({ status }) => status)).toStrictEqual([200, 200, 429])
    const fields = responses.map(({ headers }) => headers.get('x-ratelimit-remaining'))
    expect(fields).toStrictEqual(['5', '0', '0'])
    expect(responses[0]!.headers.get('ratelimit-policy')).toBe(policyShown)
    expect(Number(responses[2]!.headers.get('retry-after'))).toBeGreaterThan(1)
  })

  it('and refunds requests of the middleware', async () => {
    const key = newKey()
    const limiter = createRemoteLimiter({ ...allPermissions(), policy: 'fixed' })
    const options = { limiter, key: () => key, cost: 4, refundWhen: (status: number) => status >= 500 }
    const server = createServer(
      rateLimit(options)((request, response) => {
        response.statusCode = request.url === '/bad' ? 500 : 200
        response.end()
      }),
    ).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect((await fetch(`${url}/good`)).status).toBe(200)
    expect((await fetch(`${url}/bad`)).status).toBe(500)
    await expect.poll(async () => (await limiter.peek(key)).remaining).toBe(6)
  })
})

describe('with a service whose own store is down', () => {
  const degraded = useService(`
store: redis://127.0.0.1:1
adminToken: the-admin-token-1
policies:
  open: { algorithm: fixed-window, limit: 2, window: 366d }
  closed: { algorithm: fixed-window, limit: 2, window: 366d, onStoreFailure: closed }
  local: { algorithm: fixed-window, limit: 2, window: 366d, onStoreFailure: local }
  leaky: { algorithm: leaky-bucket, capacity: 2, leakRate: 1/1h }
`)

  it.each([
    ['open', [true, true, true]],
    ['closed', [false, false, false]],
    ['local', [true, true, false]],
  ] as const)('reports the fallback %s, alone and in a batch', async (mode, allowed) => {
    const limiter = createRemoteLimiter({ url: degraded().url, policy: mode, deadlineMs: 5000 })
    const alone: Decision[] = []
    for (const _ of allowed) alone.push(await limiter.check(`alone:${mode}`))
    const together = await Promise.all(allowed.map(() => limiter.check(`together:${mode}`)))
    // Checks that are sent at the same time can arrive in any order.
    together.sort((a, b) => Number(b.allowed) - Number(a.allowed))
    for (const decisions of [alone, together]) {
      expect(decisions.map((decision) => decision.allowed)).toStrictEqual(allowed)
      for (const decision of decisions) {
        expect(decision).toMatchObject({ degraded: mode, limit: 2, policy: mode })
        expect(decision.retryAfterMs >= 1000).toBe(!decision.allowed)
      }
    }
  })

  it('does not hold requests in a leaky bucket with an unknown level', async () => {
    const policy = leakyBucket({ capacity: 2, leakRate: '1/1h', name: 'leaky' })
    const limiter = createRemoteLimiter({ url: degraded().url, policy, deadlineMs: 5000 })
    const together = await Promise.all([limiter.check('k'), limiter.check('k')])
    for (const decision of [await limiter.check('k'), await limiter.peek('k'), ...together]) {
      expect(decision).toMatchObject({ allowed: true, degraded: 'open', delayMs: 0 })
    }
    const { delayMs } = await createRemoteStore({ url: degraded().url, deadlineMs: 5000 }).take([
      { policy, key: 'k', cost: 1 },
      { policy, key: 'l', cost: 1 },
    ])
    expect(delayMs).toBe(0)
  })

  it('a take is denied if one of its limits is closed, and a reset rejects', async () => {
    const store = createRemoteStore({
      url: degraded().url,
      adminToken: 'the-admin-token-1',
      deadlineMs: 5000,
    })
    const [open, closed] = ['open', 'closed'].map((name) => fixedWindow({ limit: 2, window: '366d', name }))
    const taken = await store.take([open!, closed!].map((policy) => ({ policy, key: 'k', cost: 1 })))
    expect(taken).toMatchObject({
      allowed: false,
      decisions: [{ degraded: 'closed' }, { degraded: 'closed' }],
    })
    expect(taken.retryAfterMs).toBeGreaterThanOrEqual(1000)
    await expect(store.reset({ policy: open!, key: 'k' })).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})

it('decides while the service is down, and is exact again within two seconds of its return', async () => {
  const yaml = policiesYaml([hundred])
  const first = await startServiceProcess({ yaml })
  const limiter = createRemoteLimiter({ url: first.url, policy: hundred, deadlineMs: 1000 })
  expect((await limiter.check('k')).degraded).toBeUndefined()
  await first.stop('SIGKILL')

  const longest = { ms: 0 }
  async function timed(): Promise<Decision> {
    const start = performance.now()
    const decision = await limiter.check('k')
    longest.ms = Math.max(longest.ms, performance.now() - start)
    return decision
  }
  for (let i = 0; i < 100; i++)
    expect(await timed()).toMatchObject({ allowed: true, degraded: 'open', limit: 100 })

  const second = await startServiceProcess({ yaml, port: Number(new URL(first.url).port) })
  try {
    const backMs = performance.now()
    while ((await timed()).degraded !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      expect(performance.now() - backMs).toBeLessThan(10_000)
    }
    const tookMs = performance.now() - backMs
    console.log(
      `service used again ${tookMs.toFixed(0)} ms after its restart; longest check ${longest.ms.toFixed(0)} ms`,
    )
    expect(tookMs).toBeLessThan(2500)
    const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.check('fresh')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
  } finally {
    await second.stop()
  }
})
