import {
  concurrency,
  createLimiter,
  type FullStore,
  fixedWindow,
  leakyBucket,
  type Policy,
  type Store,
  tokenBucket,
} from '@tidegate/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { request as factsOf } from '../../test/requests.js'
import { failingStore, memoryStore, promisingStore } from '../../test/stores.js'
import { defineRateLimit, type RequestOutcome } from './rate-limit.js'
import { mergeOptions, type RateLimitOptions } from './rate-limit-options.js'

// Tests of the framework-independent part of middleware. test/cases.ts tests the adapters.

interface TestRequest {
  headers?: Record<string, string>
  ip?: string
}

const two = fixedWindow({ limit: 2, window: '1m', name: 'two' })
const slots = concurrency({ limit: 5, name: 'slots' })

function define(options: RateLimitOptions<TestRequest>, isLazy = true) {
  return defineRateLimit(options, {
    name: 'rateLimit()',
    optionNames: ['handler', 'onError'],
    isLazy,
    reader: {
      facts: (request, findIp) => {
        const facts = factsOf(request.headers)
        return { ...facts, ip: findIp(request.ip ?? '192.0.2.1', facts) }
      },
      identity: (request) => request,
    },
  })
}

function limiterOf(policy: Policy) {
  return createLimiter({ store: memoryStore(), policy })
}

describe('invalid options', () => {
  const limiter = limiterOf(two)
  const remote = { check: limiter.check }
  const slow = leakyBucket({ capacity: 1000, leakRate: '1/1h', name: 'slow' })
  it.each<[string, object, string | undefined, RegExp]>([
    [
      'no limit',
      {},
      'limit',
      /^Exactly one limit is required: limit and window, .*got none.*limit: 100, window: '1m'/,
    ],
    ['two limits', { limiter, policy: two }, 'policy', /got limiter and policy/],
    [
      'an unknown option',
      { limiter, windows: 5 },
      'windows',
      /has no option "windows"; did you mean "window"\? It takes/,
    ],
    ['a limit without a window', { limit: 5 }, 'window', /window is missing; write window: '1m'/],
    [
      'numbers beside a policy',
      { limit: 5, window: '1m', policy: two },
      'policy',
      /got limit and window and policy/,
    ],
    ['a name beside a policy', { policy: two, name: 'api' }, 'name', /fixedWindow\(\{ .*name: "api" \}\)/],
    [
      'a bucket without an algorithm',
      { capacity: 5, refillRate: 1 },
      'algorithm',
      /algorithm: 'token-bucket'/,
    ],
    ['a leaky bucket without an algorithm', { leakRate: 1 }, 'algorithm', /algorithm: 'leaky-bucket'/],
    ['a limit for each request', { limit: () => 5, window: '1m' }, 'limit', /policy: \(request\) => /],
    [
      'a URL as store',
      { limit: 5, window: '1m', store: 'redis://u:secret@host' },
      'store',
      /new RedisStore\('redis:\/\/…@host'\)/,
    ],
    [
      'a client of ioredis as store',
      { limit: 5, window: '1m', store: { evalsha() {} } },
      'store',
      /import \{ RedisStore \} from '@tidegate\/redis' and store: new RedisStore\(client\)/,
    ],
    [
      'a client of node-redis as store',
      { limit: 5, window: '1m', store: { evalSha() {} } },
      'store',
      /new RedisStore\(client\)/,
    ],
    [
      'two unnamed policies of equal numbers in one list',
      { rules: [1, 2].map(() => ({ policy: fixedWindow({ limit: 5, window: '1m' }) })) },
      'rules[1].name',
      /^rules\[1\]: .*without a name/,
    ],
    [
      'no options',
      undefined as never,
      undefined,
      /takes an object with the options algorithm, limit, window/,
    ],
    [
      'a list of proxies in place of options',
      { limiter, proxies: ['10.0.0.0/8'] },
      'proxies',
      /must be an object .*trusted, .*got \["10.0.0.0\/8"\]/,
    ],
    ['an invalid limiter', { limiter: {} }, 'limiter', /made by createLimiter\(\)/],
    ['a store beside a limiter', { limiter, store: memoryStore() }, 'store', /Write it in createLimiter\(/],
    ['failure beside a limiter', { limiter, failure: false }, 'failure', /Write it in createLimiter\(/],
    ['an invalid store', { policy: two, store: {} }, 'store', /must be a Store/],
    ['a policy that only looks like one', { policy: { ...two } }, 'policy', /made by a policy factory/],
    ['no rules', { rules: [] }, 'rules', /a list such as/],
    ['rules that are not a list', { rules: { policy: two } }, 'rules', /a list such as/],
    ['an invalid rule', { rules: [5] }, 'rules[0]', /^rules\[0\]: A rule must be an object such as/],
    [
      'a rule without a policy',
      { rules: [{ key: 'all' }] },
      'rules[0].policy',
      /^rules\[0\]: policy is missing; write policy: fixedWindow/,
    ],
    [
      'a misspelt field',
      { rules: [{ policy: two }, { polcy: two }] },
      'rules[1].polcy',
      /did you mean "policy"\? It takes name, match/,
    ],
    [
      'a rule with a bad match',
      { rules: [{ policy: two, match: { path: 'x' } }] },
      'rules[0].match.path',
      /slash/,
    ],
    [
      'a rule with a bad key',
      { rules: [{ policy: two, key: '{ipp}' }] },
      'rules[0]',
      /"ipp" is not a source/,
    ],
    ['a rule with a bad name', { rules: [{ policy: two, name: 5 }] }, 'rules[0].name', /must be a string/],
    [
      'a rule that costs too much',
      { rules: [{ policy: two, cost: 3 }] },
      'rules[0].cost',
      /can never be allowed/,
    ],
    ['an invalid key', { limiter, key: 5 }, 'key', /a template such as/],
    ['a bad template', { limiter, key: 'ip' }, undefined, /write "\{ip\}"/],
    ['a cost above the limit', { limiter, cost: 3 }, 'cost', /can never be allowed by "two"/],
    ['a cost of 0', { limiter: remote, cost: 0 }, 'cost', /a whole number of at least 1/],
    ['an invalid proxy', { limiter, proxies: { trusted: ['x'] } }, 'trusted', /only addresses and ranges/],
    [
      'standards that do not go together',
      { limiter, standards: ['draft-6', 'draft-10'] },
      'standards',
      /draft/,
    ],
    ['an unknown format', { limiter, format: 'xml' }, 'format', /'accept', 'plain' or 'problem'/],
    ['a status of success', { limiter, status: 200 }, 'status', /from 400 to 599/],
    ['an invalid body', { limiter, body: 5 }, 'body', /a string, an object, or a function/],
    ['skip that is not a function', { limiter, skip: true }, 'skip', /must be a function/],
    ['a handler that is not a function', { limiter, handler: 'x' }, 'handler', /must be a function/],
    ['an onError that is not a function', { limiter, onError: 5 }, 'onError', /must be a function/],
    ['enforce that is not a boolean', { limiter, enforce: 'no' }, 'enforce', /true or false/],
    ['a queue without a leaky bucket', { limiter, queue: true }, 'queue', /leakyBucket\(\{ capacity: 20/],
    [
      'a queue with a policy name, whose waits are unknown',
      { limiter: { ...remote, policy: 'mail' }, queue: true },
      'queue',
      /leakyBucket\(\{ capacity, leakRate, name: "mail" \}\)/,
    ],
    ['a queue of days', { policy: slow, queue: true }, 'queue', /smaller capacity or a faster leakRate/],
    [
      'a cost of several slots',
      { policy: slots, cost: 2 },
      'cost',
      /must be 1 for the concurrency policy "slots"/,
    ],
    [
      'a rule that costs several slots',
      { rules: [{ policy: slots, cost: 2 }] },
      'rules[0].cost',
      /must be 1 for the concurrency policy "slots"/,
    ],
    [
      'a concurrency policy of a limiter without acquire',
      { limiter: { ...remote, policy: slots } },
      'limiter',
      /must have the method acquire for the concurrency policy "slots"/,
    ],
    ['refunds of slots', { policy: slots, refundWhen: () => true }, 'refundWhen', /needs a rate policy/],
    [
      'refunds of a limiter that cannot refund',
      { limiter: remote, refundWhen: () => true },
      'refundWhen',
      /needs a limiter with the method refund/,
    ],
  ])('%s', (_, options, field, message) => {
    const define_ = () => define(options as never)
    expect(define_).toThrow(message)
    expect(define_).toThrow(expect.objectContaining({ name: 'TidegateError', field }))
  })

  it('include those of another framework', () => {
    expect(() => define({ limiter, peer: () => '192.0.2.1' } as never)).toThrow(/has no option "peer"/)
  })
})

it('holds a request for whole milliseconds, and never too short', async () => {
  const policy = leakyBucket({ capacity: 3, leakRate: 3 })
  const { check } = define({ store: memoryStore(), policy, queue: true })
  // One third and two thirds of a second, rounded up.
  const held = []
  for (let i = 0; i < 3; i++) held.push((await check({})).holdMs)
  expect(held).toStrictEqual([0, 334, 667])
})

describe('refunds', () => {
  const refundFor = (outcome: RequestOutcome<TestRequest>, status: number) => outcome.refundFor?.(status)?.()

  it('are not made for a denied request', async () => {
    const limiter = limiterOf(two)
    const { check } = define({ limiter, refundWhen: () => true })
    for (let i = 0; i < 2; i++) await check({})
    expect(await check({})).toMatchObject({ denial: { status: 429 }, refundFor: undefined })
  })

  it('that fail do not fail the request', async () => {
    const store = { ...promisingStore(), refund: async () => Promise.reject(new Error('lost')) }
    const limiter = createLimiter({ store, policy: two, failure: false })
    const outcome = await define({ limiter, refundWhen: () => true }).check({})
    expect(() => refundFor(outcome, 500)).not.toThrow()
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('of a closed store, or with a refundWhen that throws, do not fail the request', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const limiter = limiterOf(two)
    const outcome = await define({ limiter, refundWhen: () => true }).check({})
    limiter.store.close()
    expect(() => refundFor(outcome, 500)).not.toThrow()
    const refundWhen = () => {
      throw new Error('error in a function')
    }
    const { check } = define({ policy: two, refundWhen })
    for (let i = 0; i < 2; i++) {
      const outcome = await check({})
      expect(() => refundFor(outcome, 500)).not.toThrow()
    }
    expect(warned.mock.calls).toStrictEqual([
      [
        expect.stringMatching(/a refund by refundWhen failed.*error in a function/),
        { type: 'TidegateWarning', code: 'TIDEGATE_REFUND_INVALID' },
      ],
    ])
    warned.mockRestore()
  })

  it.each([
    ['nothing', () => undefined, 'got undefined, which counts as false', 2],
    ['a number', () => 1, 'got 1, which counts as true', 0],
    ['a promise of a text', async () => 'yes', 'got "yes", which counts as true', 0],
  ])('by a function that returns %s are reported once', async (_, refundWhen, message, used) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const limiter = limiterOf(two)
    const { check } = define({ limiter, key: 'all', refundWhen: refundWhen as never })
    for (let i = 0; i < 2; i++) {
      refundFor(await check({}), 500)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(limiter.peek('all').remaining).toBe(2 - used)
    expect(warned.mock.calls).toStrictEqual([
      [
        expect.stringMatching(
          new RegExp(
            `refundWhen must return true or false, ${message}\\. .* refundWhen: \\(status\\) => status >= 500\\.`,
          ),
        ),
        { type: 'TidegateWarning', code: 'TIDEGATE_REFUND_INVALID' },
      ],
    ])
    warned.mockRestore()
  })

  it('return nothing for requests that passed while the store was unavailable', async () => {
    const refund = vi.fn()
    const store = { ...failingStore(), refund }
    const rules = [{ policy: two }, { policy: fixedWindow({ limit: 5, window: '1m' }) }]
    const outcome = await define({ store, rules, refundWhen: () => true }).check({})
    refundFor(outcome, 500)
    await new Promise((resolve) => setImmediate(resolve))
    expect(refund).not.toHaveBeenCalled()
  })

  it('return leased units to their lease, not to a bucket in the store', async () => {
    const memory = memoryStore()
    const refund = vi.fn(async () => 1)
    const store: Store & Pick<FullStore, 'takeUpTo'> = {
      ...promisingStore(),
      takeUpTo: async (request) => memory.takeUpTo(request),
      refund,
    }
    const lease = { maxAge: '10s', share: 1 } as const
    const policy = tokenBucket({ capacity: 1000, refillRate: 10, name: 'leased', lease })
    const { check } = define({ store, policy, key: 'all', refundWhen: () => true })
    const outcomes = []
    for (let i = 0; i < 4; i++) outcomes.push(await check({}))
    const leased = outcomes.filter(({ headers }) => headers['x-ratelimit-leased'] === 'true')
    expect(leased).toHaveLength(1)
    refundFor(leased[0]!, 500)
    await new Promise((resolve) => setImmediate(resolve))
    expect(refund).not.toHaveBeenCalled()
    expect((await check({})).headers['x-ratelimit-leased']).toBe('true')
  })
})

describe('slots', () => {
  it('of rules beside a rate limit are not refunded, and the rate limit is', async () => {
    const store = memoryStore()
    const rules = [{ policy: two }, { policy: slots }]
    const outcome = await define({ store, rules, key: 'all', refundWhen: () => true }).check({})
    outcome.refundFor?.(500)?.()
    await new Promise((resolve) => setImmediate(resolve))
    const left = (policy: typeof two | typeof slots) => store.peek({ policy, key: 'all', cost: 1 }).remaining
    expect([left(two), left(slots)]).toStrictEqual([2, 4])
    outcome.release?.()
    expect(left(slots)).toBe(5)
  })

  it('are freed if something throws after they were acquired', async () => {
    const store = memoryStore()
    const reader = {
      facts: () => factsOf(),
      identity() {
        throw new Error('error of the framework')
      },
    }
    const adapter = { name: 'rateLimit()', optionNames: [], reader }
    const { check } = defineRateLimit<TestRequest>({ store, policy: slots, key: 'all' }, adapter)
    await expect(check({})).rejects.toThrow('error of the framework')
    expect(store.peek({ policy: slots, key: 'all', cost: 1 }).remaining).toBe(5)
  })

  it('are not held by a degraded decision', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const store = { ...failingStore(), release: vi.fn(), renew: vi.fn() }
    const outcome = await define({ store, policy: slots, key: 'all' }).check({})
    expect(outcome.denial).toBeUndefined()
    outcome.release?.()
    await new Promise((resolve) => setImmediate(resolve))
    // One release for an acquire that may have been executed, and none for the response.
    expect(store.release).toHaveBeenCalledTimes(1)
    vi.restoreAllMocks()
  })
})

describe('a listener with an error', () => {
  afterEach(() => vi.restoreAllMocks())

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('error in a function')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('error in a function'))],
  ])('that %s does not change the decision, and is reported once', async (_, listen) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { check } = define({ policy: two, onDecision: listen, onDenied: listen, warnings: false })
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await check({})).denial?.status)
    expect(statuses).toStrictEqual([undefined, undefined, 429, 429])
    await new Promise((resolve) => setImmediate(resolve))
    const options = { type: 'TidegateWarning', code: 'TIDEGATE_LISTENER_FAILED' }
    expect(warned.mock.calls).toStrictEqual([
      [
        expect.stringMatching(/^onDecision of rateLimit\(\) threw .*error in a function.*rate-limit\.test/s),
        options,
      ],
      [expect.stringMatching(/^onDenied of rateLimit\(\) threw .*error in a function/s), options],
    ])
  })

  it('is reported for each different message, and never without bound', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    let count = 0
    const onDecision = () => {
      throw `number ${count++}`
    }
    const { check } = define({ policy: two, onDecision })
    for (let i = 0; i < 50; i++) await check({})
    expect(warned).toHaveBeenCalledTimes(10)
  })
})

describe('a policy among the options', () => {
  const limitsOf = async (options: RateLimitOptions<TestRequest>) => {
    const { check } = define({
      ...options,
      key: 'all',
      onDecision: ({ limits }) => (found = limits[0]?.policy),
    })
    let found: Policy | undefined
    await check({})
    return found
  }

  it('is a fixed window by default', async () => {
    expect(await limitsOf({ limit: 100, window: '1m' })).toMatchObject({
      algorithm: 'fixed-window',
      limit: 100,
      window: 60_000,
    })
  })

  it('can be any algorithm, with all fields of a policy', async () => {
    const bucket = { algorithm: 'token-bucket', capacity: 20, refillRate: '10/1m', name: 'api' } as const
    expect(await limitsOf({ ...bucket, onStoreFailure: 'local', instances: 2 })).toMatchObject({
      ...bucket,
      onStoreFailure: 'local',
      instances: 2,
    })
    expect(await limitsOf({ algorithm: 'leaky-bucket', capacity: 20, leakRate: 5 })).toMatchObject({
      leakRate: 5,
    })
  })

  it('takes a window of the type string', async () => {
    const window: string = ['1', 'm'].join('')
    expect(await limitsOf({ limit: 100, window })).toMatchObject({ window: 60_000 })
    expect(fixedWindow({ limit: 100, window }).window).toBe(60_000)
  })
})

describe('unnamed policies on one store', () => {
  const unnamed = () => fixedWindow({ limit: 2, window: '15m' })
  const code = 'POLICY_UNNAMED'

  it('of two middleware are an error, unless they are named', () => {
    const store = promisingStore()
    define({ store, policy: unnamed() })
    expect(() => define({ store, policy: unnamed() })).toThrow(
      expect.objectContaining({ code, field: 'name' }),
    )
    expect(() => define({ store, limit: 2, window: '15m' })).toThrow(expect.objectContaining({ code }))
    expect(() => createLimiter({ store, policy: unnamed() })).toThrow(expect.objectContaining({ code }))
    expect(() => define({ store, limit: 2, window: '15m', name: 'signup' })).not.toThrow()
  })

  it('of a limiter and of a middleware are an error', () => {
    const store = promisingStore()
    createLimiter({ store, policy: unnamed() })
    expect(() => define({ store, policy: unnamed() })).toThrow(expect.objectContaining({ code }))
  })

  it('that are picked for each request are an error at the request', async () => {
    const store = promisingStore()
    const [login, signup] = [define({ store, policy: unnamed }), define({ store, policy: unnamed })]
    expect((await login.check({})).denial).toBeUndefined()
    expect((await login.check({})).denial).toBeUndefined()
    await expect(signup.check({})).rejects.toThrow(expect.objectContaining({ code }))
  })

  it('do not conflict if each middleware has its own store', async () => {
    const [login, signup] = [define({ policy: unnamed() }), define({ policy: unnamed() })]
    for (let i = 0; i < 2; i++) await login.check({})
    expect((await login.check({})).denial?.status).toBe(429)
    expect((await signup.check({})).denial).toBeUndefined()
  })

  it('are named after their place, with the same name in every process', async () => {
    const store = memoryStore()
    const names: string[] = []
    for (const place of ['POST /login', 'POST /log-in', 'POST /login', 'POST /Anmeldung/äöü', '']) {
      const { check } = defineRateLimit<TestRequest>(
        { store, policy: unnamed(), key: 'all', onDecision: ({ decision }) => names.push(decision.policy) },
        {
          name: 'rateLimit()',
          optionNames: [],
          use: { place },
          reader: { facts: () => factsOf(), identity: (request) => request },
        },
      )
      await check({})
    }
    expect(names[0]).toMatch(/^post-login-[0-9a-f]{16}$/)
    expect(names[2]).toBe(names[0])
    expect(new Set(names).size).toBe(4)
  })
})

describe('options of other packages are rejected with their counterparts', () => {
  it.each<[string, object, RegExp]>([
    [
      'express-rate-limit',
      { windowMs: 60_000, max: 100 },
      /Replace windowMs: 60000 with window: '1m', start: 'first-request'\. Replace max: 100 with limit: 100\./,
    ],
    ['hours', { windowMs: 7_200_000, limit: 5 }, /window: '2h'/],
    ['odd milliseconds', { windowMs: 1_500 }, /window: '1500ms'/],
    [
      'headers',
      { limit: 5, window: '1m', standardHeaders: 'draft-7', legacyHeaders: false },
      /rate-limit\. Replace standardHeaders: "draft-7" and legacyHeaders: false with standards: \['draft-7'\]\./,
    ],
    [
      'draft 6 beside the legacy headers',
      { standardHeaders: true },
      / with standards: \['legacy', 'draft-6'\]\./,
    ],
    ['the legacy headers alone', { standardHeaders: false }, / with standards: \['legacy'\]\./],
    [
      'the earlier name of the legacy headers',
      { headers: false, standardHeaders: true },
      /Replace headers: false and standardHeaders: true with standards: \['draft-6'\]\./,
    ],
    ['no legacy headers', { legacyHeaders: false }, / with standards: \['draft-10'\]\./],
    [
      'headers of @fastify/rate-limit',
      { addHeaders: {}, enableDraftSpec: true },
      /Replace addHeaders: {} and enableDraftSpec: true with standards: \['draft-10'\]\./,
    ],
    ['keys', { keyGenerator: () => 'a' }, /Replace keyGenerator: … with key: \(request\) => …/],
    [
      'a default',
      { skipSuccessfulRequests: false },
      /Remove skipSuccessfulRequests: false, which is the default/,
    ],
    [
      'a message',
      { message: 'Calm down', statusCode: 420 },
      /body: "Calm down"\. Replace statusCode: 420 with status: 420/,
    ],
    ['validation', { validate: false }, /Replace validate: false with warnings: false/],
    ['a limit for each request', { max: () => 5 }, /policy: \(request\) => /],
    [
      '@fastify/rate-limit',
      { max: 3, timeWindow: '1 minute' },
      /Replace timeWindow: "1 minute" with window: '1m'/,
    ],
    ['lists', { allowList: ['127.0.0.1'], ban: 2 }, /skip: \(request\) => ….*Replace ban: 2 with blockFor/],
    [
      'Redis',
      { redis: {}, nameSpace: 'x', skipOnError: true },
      /new RedisStore\(client\).*prefix.*onStoreFailure: 'open'/,
    ],
  ])('%s', (_, options, message) => {
    expect(() => define(options as never)).toThrow(message)
    expect(() => define(options as never)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })
})

describe('a client without an address', () => {
  const withoutAddress = (options: RateLimitOptions<TestRequest>, more: string[] = []) =>
    defineRateLimit<TestRequest>(options, {
      name: 'rateLimit()',
      optionNames: more,
      reader: {
        facts: (request, findIp) => {
          const facts = factsOf(request.headers)
          return {
            ...facts,
            get ip() {
              return findIp(undefined, this)
            },
          }
        },
        identity: (request) => request,
      },
    })

  it('is an error with advice, because nothing would count the request', async () => {
    const error = { code: 'ADDRESS_UNKNOWN' }
    await expect(withoutAddress({ policy: two }).check({})).rejects.toThrow(expect.objectContaining(error))
    await expect(withoutAddress({ policy: two }, ['peer']).check({})).rejects.toThrow(/peer: \(request\) => /)
    await expect(
      withoutAddress({ rules: [{ policy: two, key: 'all' }, { policy: two }] }).check({}),
    ).rejects.toThrow(expect.objectContaining(error))
  })

  it('is allowed if the key does not need the address', async () => {
    for (const key of ['all', "{ip | 'unknown'}", '{header.x-user-id | ip}']) {
      const { headers } = await withoutAddress({ policy: two, key }).check({
        headers: { 'x-user-id': 'alice' },
      })
      expect(headers['x-ratelimit-remaining']).toBe('1')
    }
  })

  it('is allowed behind a trusted proxy that sends the address', async () => {
    const { check } = withoutAddress({ policy: two, proxies: { hops: 1 } })
    const { headers } = await check({ headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(headers['x-ratelimit-remaining']).toBe('1')
    await expect(check({})).rejects.toThrow(expect.objectContaining({ code: 'ADDRESS_UNKNOWN' }))
  })
})

describe('options of a route or method, merged with those of the application', () => {
  const limiter = limiterOf(two)
  const other = limiterOf(two)
  const store = memoryStore()

  it('replace one by one', () => {
    expect(mergeOptions<object>({ limiter, cost: 2, key: 'a' }, { cost: 3 })).toStrictEqual({
      limiter,
      cost: 3,
      key: 'a',
    })
  })

  it('replace the limit and its store, if they define a limit with a store', () => {
    expect(mergeOptions<object>({ policy: two, store, failure: {}, key: 'a' }, { limiter })).toStrictEqual({
      limiter,
      key: 'a',
    })
    expect(mergeOptions<object>({ limiter }, { limiter: other })).toStrictEqual({ limiter: other })
  })

  it('keep the store, if they define a limit without one', () => {
    expect(mergeOptions<object>({ policy: two, store }, { rules: [] })).toStrictEqual({ rules: [], store })
    expect(mergeOptions<object>({ limiter }, { policy: two })).toStrictEqual({
      policy: two,
      store: limiter.store,
    })
    const own = memoryStore()
    expect(mergeOptions<object>({ limiter }, { policy: two, store: own })).toStrictEqual({
      policy: two,
      store: own,
    })
  })
})

describe('warnings about misuse', () => {
  afterEach(() => vi.restoreAllMocks())

  function watch() {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    return () => warned.mock.calls.map(([, options]) => (options as { code: string }).code)
  }

  it('warns once about a request that one limiter counts twice under one key', async () => {
    const codes = watch()
    const limiter = limiterOf(fixedWindow({ limit: 100, window: '1m', name: 'api' }))
    const [one, another] = [define({ limiter }), define({ limiter })]
    for (let i = 0; i < 3; i++) {
      const request = {}
      await one.check(request)
      await another.check(request)
    }
    expect(codes()).toStrictEqual(['TIDEGATE_COUNTED_TWICE'])
  })

  it('does not warn about a request that is counted by two policies, or under two keys', async () => {
    const codes = watch()
    const store = memoryStore()
    const policy = fixedWindow({ limit: 100, window: '1m', name: 'api' })
    const other = fixedWindow({ limit: 100, window: '1m', name: 'other' })
    const limits = [
      define({ store, policy, key: 'a' }),
      define({ store, policy, key: 'b' }),
      define({ store, policy: other, key: 'a' }),
      define({ store: memoryStore(), policy, key: 'a' }),
      define({ store: memoryStore(), rules: [{ policy }, { policy }] }),
    ]
    for (let i = 0; i < 3; i++) {
      const request = {}
      for (const { check } of limits) await check(request)
    }
    expect(codes()).toStrictEqual([])
  })

  it('warns once about a forwarding header without a trusted proxy, if the key is the address', async () => {
    const codes = watch()
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    await define({ policy: two, proxies: { trusted: ['192.0.2.0/24'] } }).check({ headers })
    expect(codes()).toStrictEqual([])
    const { check } = define({ policy: two })
    await check({})
    expect(codes()).toStrictEqual([])
    for (let i = 0; i < 3; i++) await check({ headers })
    expect(codes()).toStrictEqual(['TIDEGATE_PROXY_UNTRUSTED'])
  })

  it('warns once about a limiter that is created for each request', async () => {
    const codes = watch()
    const kept = define({ policy: two }, false)
    await Promise.resolve()
    await kept.check({})
    // A limiter that is created once is fine.
    const limiter = limiterOf(two)
    for (let i = 0; i < 3; i++) define({ limiter }, false)
    for (let i = 0; i < 20; i++) await define({ limiter }, false).check({})
    // So is a middleware that is created at its first use, and kept.
    for (let i = 0; i < 20; i++) {
      const { check } = define({ policy: two }, false)
      for (let j = 0; j < 2; j++) await check({})
    }
    expect(codes()).toStrictEqual([])
    for (let i = 0; i < 20; i++) {
      await Promise.resolve()
      await define({ policy: two }, false).check({})
      expect(codes()).toHaveLength(i < 9 ? 0 : 1)
    }
    expect(codes()).toStrictEqual(['TIDEGATE_LIMITER_IN_HANDLER'])
  })

  it('are disabled by warnings: false', async () => {
    const codes = watch()
    const { check } = define({ limiter: limiterOf(two), key: '{header.x-user-id}', warnings: false })
    await check({ headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(codes()).toStrictEqual([])
  })

  it('go to the console on runtimes without process warnings', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.stubGlobal('process', undefined)
    try {
      await define({ policy: two, key: '{header.x-user-id}' }).check({})
    } finally {
      vi.unstubAllGlobals()
    }
    expect(warn.mock.calls).toStrictEqual([
      [expect.stringMatching(/^TidegateWarning \[TIDEGATE_KEY_UNDEFINED\]: rateLimit\(\)/)],
    ])
  })
})
