import { createLimiter, fixedWindow, leakyBucket, type Policy, slidingWindowLog } from '@tidegate/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { request as factsOf } from '../test/requests.js'
import { failingStore, memoryStore, promisingStore } from '../test/stores.js'
import { defineRateLimit, type Ruling } from './rate-limit.js'
import { mergeOptions, type RateLimitOptions } from './rate-limit-options.js'

// What is the same in every framework, without one. What a framework sees of it is in test/cases.ts.

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
      facts: (asked, whoIs) => {
        const facts = factsOf(asked.headers)
        return { ...facts, ip: whoIs(asked.ip ?? '192.0.2.1', facts) }
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
    ['nothing to count by', {}, 'limiter', /Write one of limiter.*got none of them.*createLimiter\(/],
    ['two things to count by', { limiter, policy: two }, 'policy', /got limiter and policy/],
    [
      'an option that there is not',
      { limiter, windowMs: 5 },
      'windowMs',
      /has no option "windowMs"; it takes/,
    ],
    ['no options', undefined as never, undefined, /takes an object of limiter/],
    [
      'a list of proxies in place of options',
      { limiter, proxies: ['10.0.0.0/8'] },
      undefined,
      /takes an object of trusted, .*got \["10.0.0.0\/8"\]/,
    ],
    ['a limiter that is none', { limiter: {} }, 'limiter', /made by createLimiter\(\)/],
    ['a store beside a limiter', { limiter, store: memoryStore() }, 'store', /write it in createLimiter\(\)/],
    ['failure beside a limiter', { limiter, failure: false }, 'failure', /write it in createLimiter\(\)/],
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
    ['a proxy that is none', { limiter, proxies: { trusted: ['x'] } }, 'trusted', /no address and no range/],
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

describe('without a promise where none is needed', () => {
  it.each<[string, RateLimitOptions<Asked>]>([
    ['a limiter', { limiter: limiterOf(two) }],
    ['a policy', { policy: two }],
    ['rules', { rules: [{ policy: two }, { policy: slidingWindowLog({ limit: 5, window: '1m' }) }] }],
    ['functions', { policy: () => two, key: () => 'a', cost: () => 1, skip: () => false }],
  ])('%s', (_, options) => {
    expect(define(options).decide({})).not.toHaveProperty('then')
  })
})

it('holds a request for whole milliseconds, and never too short', () => {
  const policy = leakyBucket({ capacity: 3, leakRate: 3 })
  const { decide } = define({ store: memoryStore(), policy, queue: true })
  // A third of a second, and two.
  expect([1, 2, 3].map(() => (decide({}) as Ruling<Asked>).holdMs)).toStrictEqual([0, 334, 667])
})

describe('refunds', () => {
  const atEnd = (ruling: unknown, status: number) => (ruling as Ruling<Asked>).atEnd?.(status)?.()

  it('of a refused request do not exist', () => {
    const limiter = limiterOf(two)
    const { decide } = define({ limiter, refundWhen: () => true })
    for (let i = 0; i < 2; i++) decide({})
    expect(decide({})).toMatchObject({ refusal: { status: 429 }, atEnd: undefined })
  })

  it('that fail harm nobody', async () => {
    const store = { ...promisingStore(), refund: async () => Promise.reject(new Error('lost')) }
    const limiter = createLimiter({ store, policy: two, failure: false })
    const ruling = await define({ limiter, refundWhen: () => true }).decide({})
    expect(() => atEnd(ruling, 500)).not.toThrow()
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('of a store that is closed, or by a function that throws, harm nobody either', () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const limiter = limiterOf(two)
    const ruling = define({ limiter, refundWhen: () => true }).decide({})
    limiter.store.close()
    expect(() => atEnd(ruling, 500)).not.toThrow()
    const refundWhen = () => {
      throw new Error('of the user')
    }
    const { decide } = define({ policy: two, refundWhen })
    for (let i = 0; i < 2; i++) expect(() => atEnd(decide({}), 500)).not.toThrow()
    expect(warned.mock.calls).toStrictEqual([
      [
        expect.stringMatching(/nothing was given back.*of the user/),
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

it.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('of the user')
    },
  ],
  ['rejects', async () => Promise.reject(new Error('of the user'))],
])('a listener that %s harms nobody', async (_, listen) => {
  const { decide } = define({ policy: two, onDecision: listen, onDenied: listen })
  const statuses = [1, 2, 3].map(() => (decide({}) as Ruling<Asked>).refusal?.status)
  expect(statuses).toStrictEqual([undefined, undefined, 429])
  await new Promise((resolve) => setImmediate(resolve))
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

describe('likely mistakes', () => {
  afterEach(() => vi.restoreAllMocks())

  function watch() {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    return () => warned.mock.calls.map(([, options]) => (options as { code: string }).code)
  }

  it('a request that is counted twice by one limiter under one key is told of, once', () => {
    const codes = watch()
    const limiter = limiterOf(fixedWindow({ limit: 100, window: '1m', name: 'api' }))
    const [one, another] = [define({ limiter }), define({ limiter })]
    for (let i = 0; i < 3; i++) {
      const asked = {}
      one.decide(asked)
      another.decide(asked)
    }
    expect(codes()).toStrictEqual(['COUNTED_TWICE'])
  })

  it('a request that is counted by two policies, or under two keys, is not', () => {
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
      for (const { decide } of limits) decide(asked)
    }
    expect(codes()).toStrictEqual([])
  })

  it('a header of proxies without a trusted proxy is told of, once, if it matters', () => {
    const codes = watch()
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    define({ policy: two, proxies: { trusted: ['192.0.2.0/24'] } }).decide({ headers })
    expect(codes()).toStrictEqual([])
    const { decide } = define({ policy: two })
    decide({})
    expect(codes()).toStrictEqual([])
    for (let i = 0; i < 3; i++) decide({ headers })
    expect(codes()).toStrictEqual(['PROXY_UNTRUSTED'])
  })

  it('a limiter that is made for each request is told of, once', async () => {
    const codes = watch()
    const kept = define({ policy: two }, false)
    await Promise.resolve()
    kept.decide({})
    // With a limiter that is not new nothing is lost.
    const limiter = limiterOf(two)
    for (let i = 0; i < 3; i++) define({ limiter }, false)
    for (let i = 0; i < 20; i++) define({ limiter }, false).decide({})
    // Nor with one that is made when it is first needed, and kept.
    for (let i = 0; i < 20; i++) {
      const { decide } = define({ policy: two }, false)
      for (let j = 0; j < 2; j++) decide({})
    }
    expect(codes()).toStrictEqual([])
    for (let i = 0; i < 20; i++) {
      await Promise.resolve()
      define({ policy: two }, false).decide({})
      expect(codes()).toHaveLength(i < 9 ? 0 : 1)
    }
    expect(codes()).toStrictEqual(['LIMITER_IN_HANDLER'])
  })

  it('are not told of if nobody wants to hear', () => {
    const codes = watch()
    const { decide } = define({ limiter: limiterOf(two), key: '{header.x-user-id}', warnings: false })
    decide({ headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(codes()).toStrictEqual([])
  })

  it('go to the console where there is no process', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.stubGlobal('process', undefined)
    try {
      define({ policy: two, key: '{header.x-user-id}' }).decide({})
    } finally {
      vi.unstubAllGlobals()
    }
    expect(warn.mock.calls).toStrictEqual([
      [expect.stringMatching(/^TidegateWarning \[KEY_UNDEFINED\]: rateLimit\(\)/)],
    ])
  })
})
