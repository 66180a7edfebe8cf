import { createLimiter, fixedWindow, leakyBucket, type Policy } from '@tidegate/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { request as factsOf } from '../test/requests.js'
import { failingStore, memoryStore, promisingStore } from '../test/stores.js'
import { defineRateLimit, type Ruling } from './rate-limit.js'
import { mergeOptions, type RateLimitOptions } from './rate-limit-options.js'

// What all frameworks share. test/cases.ts has what a framework adds.

interface Asked {
  headers?: Record<string, string>
  ip?: string
}

const two = fixedWindow({ limit: 2, window: '1m', name: 'two' })

function define(options: RateLimitOptions<Asked>, isMadeLate = true) {
  return defineRateLimit(options, {
    name: 'rateLimit()',
    options: ['handler', 'onError'],
    isMadeLate,
    reader: {
      facts: (asked, findIp) => {
        const facts = factsOf(asked.headers)
        return { ...facts, ip: findIp(asked.ip ?? '192.0.2.1', facts) }
      },
      identity: (asked) => asked,
    },
  })
}

function limiterOf(policy: Policy) {
  return createLimiter({ store: memoryStore(), policy })
}

describe('options that are wrong', () => {
  const limiter = limiterOf(two)
  const remote = { check: limiter.check }
  const slow = leakyBucket({ capacity: 1000, leakRate: '1/1h', name: 'slow' })
  it.each<[string, object, string | undefined, RegExp]>([
    [
      'nothing to count by',
      {},
      'limit',
      /Write limit and window, .*limit: 100, window: '1m'.*got none of them/,
    ],
    ['two things to count by', { limiter, policy: two }, 'policy', /got limiter and policy/],
    ['an unknown option', { limiter, windows: 5 }, 'windows', /has no option "windows"; it takes/],
    ['a limit without a window', { limit: 5 }, 'window', /window must be/],
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
    ['no options', undefined as never, undefined, /takes an object of algorithm, limit, window/],
    [
      'a list of proxies in place of options',
      { limiter, proxies: ['10.0.0.0/8'] },
      undefined,
      /takes an object of trusted, .*got \["10.0.0.0\/8"\]/,
    ],
    ['a limiter that is none', { limiter: {} }, 'limiter', /made by createLimiter\(\)/],
    ['a store beside a limiter', { limiter, store: memoryStore() }, 'store', /Write it in createLimiter\(/],
    ['failure beside a limiter', { limiter, failure: false }, 'failure', /Write it in createLimiter\(/],
    ['a store that is none', { policy: two, store: {} }, 'store', /must be a Store/],
    ['a policy that only looks like one', { policy: { ...two } }, 'policy', /made by tokenBucket\(\)/],
    ['no rules', { rules: [] }, 'rules', /a list such as/],
    ['rules that are no list', { rules: { policy: two } }, 'rules', /a list such as/],
    ['a rule that is none', { rules: [5] }, 'rules[0]', /^rules\[0\]: A rule is an object such as/],
    [
      'a rule without a policy',
      { rules: [{ key: 'all' }] },
      'rules[0].policy',
      /^rules\[0\]: A policy is made/,
    ],
    [
      'a misspelt field',
      { rules: [{ policy: two }, { polcy: two }] },
      'rules[1].polcy',
      /it takes name, match/,
    ],
    [
      'a rule with a bad match',
      { rules: [{ policy: two, match: { path: 'x' } }] },
      'rules[0].match.path',
      /slash/,
    ],
    ['a rule with a bad key', { rules: [{ policy: two, key: '{ipp}' }] }, 'rules[0]', /"ipp" is no source/],
    ['a rule with a bad name', { rules: [{ policy: two, name: 5 }] }, 'rules[0].name', /must be text/],
    [
      'a rule that costs too much',
      { rules: [{ policy: two, cost: 3 }] },
      'rules[0].cost',
      /can never be allowed/,
    ],
    ['a key that is none', { limiter, key: 5 }, 'key', /a template such as/],
    ['a bad template', { limiter, key: 'ip' }, undefined, /write "\{ip\}"/],
    ['a cost above the limit', { limiter, cost: 3 }, 'cost', /can never be allowed by "two"/],
    ['a cost of nothing', { limiter: remote, cost: 0 }, 'cost', /a whole number from 1 up/],
    [
      'a proxy that is none',
      { limiter, proxies: { trusted: ['x'] } },
      'trusted',
      /not an address or a range/,
    ],
    [
      'standards that do not go together',
      { limiter, standards: ['draft-6', 'draft-10'] },
      'standards',
      /draft/,
    ],
    ['a format that there is not', { limiter, format: 'xml' }, 'format', /'accept', 'plain' or 'problem'/],
    ['a status of success', { limiter, status: 200 }, 'status', /from 400 to 599/],
    ['a body that is none', { limiter, body: 5 }, 'body', /text, an object, or a function/],
    ['skip that is no function', { limiter, skip: true }, 'skip', /must be a function/],
    ['a handler that is none', { limiter, handler: 'x' }, 'handler', /must be a function/],
    ['an answer to errors that is none', { limiter, onError: 5 }, 'onError', /must be a function/],
    ['enforce that is no flag', { limiter, enforce: 'no' }, 'enforce', /true or false/],
    ['a queue without a leaky bucket', { limiter, queue: true }, 'queue', /leakyBucket\(\)/],
    [
      'a queue by a name, of which nobody knows how long to wait',
      { limiter: { ...remote, policy: 'mail' }, queue: true },
      'queue',
      /leakyBucket\(\{ capacity, leakRate, name: "mail" \}\)/,
    ],
    ['a queue of days', { policy: slow, queue: true }, 'queue', /smaller capacity or a faster leakRate/],
    ['refunds that cannot be', { limiter: remote, refundWhen: () => true }, 'refundWhen', /cannot/],
  ])('%s', (_, options, field, message) => {
    const define_ = () => define(options as never)
    expect(define_).toThrow(message)
    expect(define_).toThrow(expect.objectContaining({ name: 'TidegateError', field }))
  })

  it('are not those of another framework', () => {
    expect(() => define({ limiter, peer: () => '192.0.2.1' } as never)).toThrow(/has no option "peer"/)
  })
})

it('holds a request for whole milliseconds, and never too short', async () => {
  const policy = leakyBucket({ capacity: 3, leakRate: 3 })
  const { decide } = define({ store: memoryStore(), policy, queue: true })
  // A third of a second, and two.
  const held = []
  for (let i = 0; i < 3; i++) held.push((await decide({})).holdMs)
  expect(held).toStrictEqual([0, 334, 667])
})

describe('refunds', () => {
  const atEnd = (ruling: Ruling<Asked>, status: number) => ruling.atEnd?.(status)?.()

  it('of a denied request do not exist', async () => {
    const limiter = limiterOf(two)
    const { decide } = define({ limiter, refundWhen: () => true })
    for (let i = 0; i < 2; i++) await decide({})
    expect(await decide({})).toMatchObject({ refusal: { status: 429 }, atEnd: undefined })
  })

  it('that fail do not fail the request', async () => {
    const store = { ...promisingStore(), refund: async () => Promise.reject(new Error('lost')) }
    const limiter = createLimiter({ store, policy: two, failure: false })
    const ruling = await define({ limiter, refundWhen: () => true }).decide({})
    expect(() => atEnd(ruling, 500)).not.toThrow()
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('of a closed store, or by a function that throws, do not fail the request', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const limiter = limiterOf(two)
    const ruling = await define({ limiter, refundWhen: () => true }).decide({})
    limiter.store.close()
    expect(() => atEnd(ruling, 500)).not.toThrow()
    const refundWhen = () => {
      throw new Error('of the user')
    }
    const { decide } = define({ policy: two, refundWhen })
    for (let i = 0; i < 2; i++) {
      const ruling = await decide({})
      expect(() => atEnd(ruling, 500)).not.toThrow()
    }
    expect(warned.mock.calls).toStrictEqual([
      [
        expect.stringMatching(/a refund failed.*of the user/),
        { type: 'TidegateWarning', code: 'REFUND_INVALID' },
      ],
    ])
    warned.mockRestore()
  })

  it('of what was let through while the store failed give nothing', async () => {
    const refund = vi.fn()
    const store = { ...failingStore(), refund }
    const rules = [{ policy: two }, { policy: fixedWindow({ limit: 5, window: '1m' }) }]
    const ruling = await define({ store, rules, refundWhen: () => true }).decide({})
    atEnd(ruling, 500)
    await new Promise((resolve) => setImmediate(resolve))
    expect(refund).not.toHaveBeenCalled()
  })
})

describe('a listener with an error', () => {
  afterEach(() => vi.restoreAllMocks())

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('of the user')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('of the user'))],
  ])('that %s does not change the decision, and is reported once', async (_, listen) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { decide } = define({ policy: two, onDecision: listen, onDenied: listen, warnings: false })
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await decide({})).refusal?.status)
    expect(statuses).toStrictEqual([undefined, undefined, 429, 429])
    await new Promise((resolve) => setImmediate(resolve))
    const options = { type: 'TidegateWarning', code: 'LISTENER_FAILED' }
    expect(warned.mock.calls).toStrictEqual([
      [expect.stringMatching(/^onDecision of rateLimit\(\) threw .*of the user.*rate-limit\.test/s), options],
      [expect.stringMatching(/^onDenied of rateLimit\(\) threw .*of the user/s), options],
    ])
  })

  it('is reported for each different message, and never without bound', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    let count = 0
    const onDecision = () => {
      throw `number ${count++}`
    }
    const { decide } = define({ policy: two, onDecision })
    for (let i = 0; i < 50; i++) await decide({})
    expect(warned).toHaveBeenCalledTimes(10)
  })
})

describe('a policy among the options', () => {
  const limitsOf = async (options: RateLimitOptions<Asked>) => {
    const { decide } = define({
      ...options,
      key: 'all',
      onDecision: ({ limits }) => (found = limits[0]?.policy),
    })
    let found: Policy | undefined
    await decide({})
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

  it('of two middleware are an error, and names are the remedy', () => {
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
    expect((await login.decide({})).refusal).toBeUndefined()
    expect((await login.decide({})).refusal).toBeUndefined()
    await expect(signup.decide({})).rejects.toThrow(expect.objectContaining({ code }))
  })

  it('do not meet if each middleware has its own store', async () => {
    const [login, signup] = [define({ policy: unnamed() }), define({ policy: unnamed() })]
    for (let i = 0; i < 2; i++) await login.decide({})
    expect((await login.decide({})).refusal?.status).toBe(429)
    expect((await signup.decide({})).refusal).toBeUndefined()
  })

  it('are named after their place, alike in every process', async () => {
    const store = memoryStore()
    const names: string[] = []
    for (const place of ['POST /login', 'POST /log-in', 'POST /login', 'POST /Anmeldung/äöü', '']) {
      const { decide } = defineRateLimit<Asked>(
        { store, policy: unnamed(), key: 'all', onDecision: ({ decision }) => names.push(decision.policy) },
        {
          name: 'rateLimit()',
          options: [],
          use: { place },
          reader: { facts: () => factsOf(), identity: (asked) => asked },
        },
      )
      await decide({})
    }
    expect(names[0]).toMatch(/^post-login-[0-9a-f]{16}$/)
    expect(names[2]).toBe(names[0])
    expect(new Set(names).size).toBe(4)
  })
})

describe('options of other packages are answered with their counterparts', () => {
  it.each<[string, object, RegExp]>([
    [
      'express-rate-limit',
      { windowMs: 60_000, max: 100 },
      /windowMs: 60000 is written window: '1m'\. max: 100 is written limit: 100\./,
    ],
    ['hours', { windowMs: 7_200_000, limit: 5 }, /window: '2h'/],
    ['odd milliseconds', { windowMs: 1_500 }, /window: '1500ms'/],
    [
      'headers',
      { limit: 5, window: '1m', standardHeaders: 'draft-7', legacyHeaders: false },
      /standards: \['draft-7'\]/,
    ],
    ['keys', { keyGenerator: () => 'a' }, /keyGenerator: … is written key: \(request\) => …/],
    [
      'a default',
      { skipSuccessfulRequests: false },
      /Remove skipSuccessfulRequests: false: that is the default/,
    ],
    [
      'a message',
      { message: 'Calm down', statusCode: 420 },
      /body: "Calm down"\. statusCode: 420 is written status: 420/,
    ],
    ['validation', { validate: false }, /validate: false is written warnings: false/],
    ['a limit for each request', { max: () => 5 }, /policy: \(request\) => /],
    [
      '@fastify/rate-limit',
      { max: 3, timeWindow: '1 minute' },
      /timeWindow: "1 minute" is written window: '1m'/,
    ],
    ['lists', { allowList: ['127.0.0.1'], ban: 2 }, /skip: \(request\) => ….*ban: 2 is written/],
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
  const withoutAddress = (options: RateLimitOptions<Asked>, more: string[] = []) =>
    defineRateLimit<Asked>(options, {
      name: 'rateLimit()',
      options: more,
      reader: {
        facts: (asked, findIp) => {
          const facts = factsOf(asked.headers)
          return {
            ...facts,
            get ip() {
              return findIp(undefined, this)
            },
          }
        },
        identity: (asked) => asked,
      },
    })

  it('is an error that says what to write, because nothing would count it', async () => {
    const error = { code: 'ADDRESS_UNKNOWN' }
    await expect(withoutAddress({ policy: two }).decide({})).rejects.toThrow(expect.objectContaining(error))
    await expect(withoutAddress({ policy: two }, ['peer']).decide({})).rejects.toThrow(
      /Write peer: \(request\) => /,
    )
    await expect(
      withoutAddress({ rules: [{ policy: two, key: 'all' }, { policy: two }] }).decide({}),
    ).rejects.toThrow(expect.objectContaining(error))
  })

  it('is no error where the key does not need the address', async () => {
    for (const key of ['all', "{ip | 'unknown'}", '{header.x-user-id | ip}']) {
      const { headers } = await withoutAddress({ policy: two, key }).decide({
        headers: { 'x-user-id': 'alice' },
      })
      expect(headers['x-ratelimit-remaining']).toBe('1')
    }
  })

  it('is no error behind a counted proxy that names the client', async () => {
    const { decide } = withoutAddress({ policy: two, proxies: { hops: 1 } })
    const { headers } = await decide({ headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(headers['x-ratelimit-remaining']).toBe('1')
    await expect(decide({})).rejects.toThrow(expect.objectContaining({ code: 'ADDRESS_UNKNOWN' }))
  })
})

describe('options of a part before those of the whole', () => {
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

  it('replace all that counts, if they name something that does', () => {
    expect(mergeOptions<object>({ policy: two, store, failure: {}, key: 'a' }, { limiter })).toStrictEqual({
      limiter,
      key: 'a',
    })
    expect(mergeOptions<object>({ limiter }, { limiter: other })).toStrictEqual({ limiter: other })
  })

  it('count in the same store, if they name none', () => {
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

  it('a request that is counted twice by one limiter under one key is told of, once', async () => {
    const codes = watch()
    const limiter = limiterOf(fixedWindow({ limit: 100, window: '1m', name: 'api' }))
    const [one, another] = [define({ limiter }), define({ limiter })]
    for (let i = 0; i < 3; i++) {
      const asked = {}
      await one.decide(asked)
      await another.decide(asked)
    }
    expect(codes()).toStrictEqual(['COUNTED_TWICE'])
  })

  it('a request that is counted by two policies, or under two keys, is not', async () => {
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
      const asked = {}
      for (const { decide } of limits) await decide(asked)
    }
    expect(codes()).toStrictEqual([])
  })

  it('a header of proxies without a trusted proxy is told of, once, if it matters', async () => {
    const codes = watch()
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    await define({ policy: two, proxies: { trusted: ['192.0.2.0/24'] } }).decide({ headers })
    expect(codes()).toStrictEqual([])
    const { decide } = define({ policy: two })
    await decide({})
    expect(codes()).toStrictEqual([])
    for (let i = 0; i < 3; i++) await decide({ headers })
    expect(codes()).toStrictEqual(['PROXY_UNTRUSTED'])
  })

  it('a limiter that is made for each request is told of, once', async () => {
    const codes = watch()
    const kept = define({ policy: two }, false)
    await Promise.resolve()
    await kept.decide({})
    // With a limiter that is not new nothing is lost.
    const limiter = limiterOf(two)
    for (let i = 0; i < 3; i++) define({ limiter }, false)
    for (let i = 0; i < 20; i++) await define({ limiter }, false).decide({})
    // Nor with one that is made when it is first needed, and kept.
    for (let i = 0; i < 20; i++) {
      const { decide } = define({ policy: two }, false)
      for (let j = 0; j < 2; j++) await decide({})
    }
    expect(codes()).toStrictEqual([])
    for (let i = 0; i < 20; i++) {
      await Promise.resolve()
      await define({ policy: two }, false).decide({})
      expect(codes()).toHaveLength(i < 9 ? 0 : 1)
    }
    expect(codes()).toStrictEqual(['LIMITER_IN_HANDLER'])
  })

  it('are not told of if nobody wants to hear', async () => {
    const codes = watch()
    const { decide } = define({ limiter: limiterOf(two), key: '{header.x-user-id}', warnings: false })
    await decide({ headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(codes()).toStrictEqual([])
  })

  it('go to the console where there is no process', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.stubGlobal('process', undefined)
    try {
      await define({ policy: two, key: '{header.x-user-id}' }).decide({})
    } finally {
      vi.unstubAllGlobals()
    }
    expect(warn.mock.calls).toStrictEqual([
      [expect.stringMatching(/^TidegateWarning \[KEY_UNDEFINED\]: rateLimit\(\)/)],
    ])
  })
})
