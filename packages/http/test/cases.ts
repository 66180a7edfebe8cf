import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import {
  createLimiter,
  fixedWindow,
  type Limiter,
  leakyBucket,
  type MaybePromise,
  type Policy,
  tokenBucket,
} from '@tidegate/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { allOf, byApiKey, byIp, byRoute, byUser, firstOf } from '../src/keys/resolvers.js'
import { sha256Hex } from '../src/keys/sha256.js'
import type { RateLimitEvent } from '../src/middleware/rate-limit-options.js'
import {
  type AnyOptions,
  type AnyRequest,
  createApplication,
  type Framework,
  type Tools,
} from './framework.js'
import { SLOT_CASES } from './slot-cases.js'
import { failingStore, memoryStore, NOON_MS, promisingStore } from './stores.js'

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** The tools of a case: serve with options, then send requests. */
export interface Stage {
  framework: Framework
  serve(options: AnyOptions | ((tools: Tools) => AnyOptions)): Promise<Served>
}

interface Served {
  port: number
  ask(path?: string, headers?: Record<string, string>, method?: string): Promise<Answer>
  /** Sends a request that can be cancelled. */
  begin(path: string): ClientRequest
  application: ReturnType<typeof createApplication>
}

const two = fixedWindow({ limit: 2, window: '1m', name: 'two' })
const ALICE = { 'x-user-id': 'alice' }
const BOB = { 'x-user-id': 'bob' }
const BY_USER = 'user:{header.x-user-id}'

/** The cases by title. Every framework has to pass all of them. */
const CASES: Record<string, (stage: Stage) => Promise<void>> = {
  ...SLOT_CASES,

  async 'passes allowed requests with headers that show the remaining limit'({ serve }) {
    const { ask, application } = await serve({ limiter: limiterOf(two) })
    const first = await ask()
    expect(first).toMatchObject({ status: 200, text: 'hello' })
    expect(limitHeaders(first)).toStrictEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': String(NOON_MS / 1000 + 60),
      ratelimit: '"two";r=1;t=60',
      'ratelimit-policy': '"two";q=2;w=60',
    })
    expect((await ask()).headers['x-ratelimit-remaining']).toBe('0')
    expect(application.handled).toBe(2)
  },

  async 'denies with 429, a wait and a body, without reaching the application'({ serve }) {
    const { ask, application } = await serve({ limiter: limiterOf(two) })
    await ask()
    await ask()
    const denied = await ask()
    expect(denied.status).toBe(429)
    expect(denied.headers['content-type']).toMatch(/^application\/json/)
    expect(denied.headers['cache-control']).toBe('no-store')
    expect(denied.headers['retry-after']).toBe('60')
    expect(limitHeaders(denied).ratelimit).toBe('"two";r=0;t=60')
    expect(JSON.parse(denied.text)).toStrictEqual({
      error: 'rate_limit_exceeded',
      message: 'Too many requests. Please retry after 60 seconds.',
      retry_after: 60,
    })
    expect(application.handled).toBe(2)
  },

  async 'denies with a problem document if the client prefers it'({ serve }) {
    const { ask } = await serve({ limiter: limiterOf(fixedWindow({ limit: 1, window: '1m', name: 'one' })) })
    await ask('/orders/7')
    const denied = await ask('/orders/7?x=1', { accept: 'application/problem+json' })
    expect(denied.status).toBe(429)
    expect(denied.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(JSON.parse(denied.text)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      instance: '/orders/7',
      'violated-policies': ['one'],
      retry_after: 60,
    })
  },

  async 'sends the headers of each standard'({ serve }) {
    const legacy = { limit: '2', remaining: '1', reset: String(NOON_MS / 1000 + 60) }
    const expected = {
      legacy: prefixed('x-ratelimit-', legacy),
      'draft-6': {
        ...prefixed('ratelimit-', { limit: '2', remaining: '1', reset: '60' }),
        'ratelimit-policy': '2;w=60',
      },
      'draft-7': { ratelimit: 'limit=2, remaining=1, reset=60', 'ratelimit-policy': '2;w=60' },
      'draft-8': { ratelimit: '"two";r=1;t=60', 'ratelimit-policy': '"two";q=2;w=60' },
      'draft-10': { ratelimit: '"two";r=1;t=60', 'ratelimit-policy': '"two";q=2;w=60' },
    } as const
    for (const standard of Object.keys(expected) as (keyof typeof expected)[]) {
      const { ask } = await serve({ limiter: limiterOf(two), standards: [standard] })
      expect(limitHeaders(await ask()), standard).toStrictEqual(expected[standard])
    }
    const { ask } = await serve({ limiter: limiterOf(two), standards: [] })
    expect(limitHeaders(await ask())).toStrictEqual({})
  },

  async 'takes from several limits or from none'({ serve }) {
    const everybody = tokenBucket({ capacity: 10, refillRate: 1, name: 'everybody' })
    const login = fixedWindow({ limit: 1, window: '1m', name: 'login' })
    const store = memoryStore()
    const rules = [
      { policy: everybody, key: 'all' },
      { policy: login, match: { path: '/login', methods: ['POST'] }, name: 'log in' },
    ]
    const { ask } = await serve({ store, rules })
    expect(limitHeaders(await ask('/')).ratelimit).toBe('"everybody";r=9;t=1')
    const first = await ask('/login', {}, 'POST')
    expect(first.status).toBe(200)
    expect(first.headers.ratelimit).toBe('"everybody";r=8;t=2, "login";r=0;t=60')
    expect(first.headers['x-ratelimit-limit']).toBe('1')

    const second = await ask('//login/?x=1', {}, 'POST')
    expect(second.status).toBe(429)
    expect(second.headers['retry-after']).toBe('60')
    expect(second.headers.ratelimit).toBe('"everybody";r=8;t=2, "login";r=0;t=60')
    expect(store.peek({ policy: everybody, key: 'all', cost: 1 }).remaining).toBe(8)
  },

  async 'does not count requests that no rule matches'({ serve }) {
    const { ask } = await serve({ rules: [{ policy: two, match: { path: '/api/**' } }] })
    expect(limitHeaders(await ask('/'))).toStrictEqual({})
    expect(limitHeaders(await ask('/api'))).not.toStrictEqual({})
  },

  async 'counts and marks requests in a dry run, and passes all of them'({ serve }) {
    const denied = vi.fn()
    const { ask } = await serve({ limiter: limiterOf(two), enforce: false, onDenied: denied })
    const marks = []
    for (let i = 0; i < 3; i++) marks.push((await ask()).headers['x-ratelimit-dry-run'])
    expect(marks).toStrictEqual(['allowed', 'allowed', 'denied'])
    const after = await ask()
    expect(after).toMatchObject({ status: 200, text: 'hello' })
    expect(after.headers['retry-after']).toBeUndefined()
    expect(after.headers['x-ratelimit-remaining']).toBe('0')
    expect(denied).toHaveBeenCalledTimes(2)
  },

  async 'takes the cost of a request'({ serve }) {
    const limiter = limiterOf(fixedWindow({ limit: 10, window: '1m', name: 'ten' }))
    const { ask } = await serve({ limiter, cost: 4 })
    expect((await ask()).headers['x-ratelimit-remaining']).toBe('6')
    expect((await ask()).headers['x-ratelimit-remaining']).toBe('2')
    expect((await ask()).status).toBe(429)
  },

  async 'calls a cost function for each request'({ serve }) {
    const ten = fixedWindow({ limit: 10, window: '1m', name: 'ten' })
    for (const make of [identity, promised]) {
      const { ask } = await serve(({ header }) => ({
        limiter: limiterOf(ten),
        cost: (request: AnyRequest) => make(Number(header(request, 'x-cost'))),
      }))
      expect((await ask('/', { 'x-cost': '3' })).headers['x-ratelimit-remaining']).toBe('7')
      expect((await ask('/', { 'x-cost': '7' })).headers['x-ratelimit-remaining']).toBe('0')
      expect((await ask('/', { 'x-cost': '1' })).status).toBe(429)
    }
  },

  async 'does not count skipped requests'({ serve }) {
    for (const make of [identity, promised]) {
      const { ask } = await serve(({ header }) => ({
        limiter: limiterOf(two),
        skip: (request: AnyRequest) => make(header(request, 'x-user-id') === 'alice'),
      }))
      for (let i = 0; i < 3; i++) {
        const skipped = await ask('/', ALICE)
        expect(skipped).toMatchObject({ status: 200, text: 'hello' })
        expect(limitHeaders(skipped)).toStrictEqual({})
      }
      expect((await ask('/', BOB)).headers['x-ratelimit-remaining']).toBe('1')
    }
  },

  async 'counts each client separately, with every kind of key'({ serve, framework }) {
    const { header } = framework.tools
    const user = (request: AnyRequest) => header(request, 'x-user-id')
    const keys: [AnyOptions['key'], string][] = [
      [BY_USER, 'user:alice'],
      [user, 'alice'],
      [async (request: AnyRequest) => user(request), 'alice'],
      [byUser(user), 'user:alice'],
      [byUser(async (request) => user(request)), 'user:alice'],
      [byApiKey('x-user-id'), `api-key:${sha256Hex('alice')}`],
      [
        firstOf(
          byUser(() => null),
          byUser(user),
          byIp(),
        ),
        'user:alice',
      ],
      [allOf(byIp(), byUser(user)), 'ip:127.0.0.1|user:alice'],
      [
        allOf(
          byUser(async () => '50%'),
          byUser(user),
        ),
        'user:50%25|user:alice',
      ],
    ]
    for (const [key, found] of keys) {
      const counted: string[] = []
      const onDecision = ({ limits }: RateLimitEvent<unknown>) => counted.push(limits[0]!.key)
      const { ask } = await serve({ limiter: limiterOf(two), onDecision, ...(key !== undefined && { key }) })
      for (let i = 0; i < 2; i++) expect((await ask('/', ALICE)).status).toBe(200)
      expect((await ask('/', ALICE)).status).toBe(429)
      expect((await ask('/', BOB)).status).toBe(200)
      expect(counted[0]).toBe(found)
    }
  },

  async 'counts by the address of the connection, or by the header of a trusted proxy'({ serve }) {
    const keyWith = async (options: AnyOptions) => {
      const keys: string[] = []
      const onDecision = ({ limits }: RateLimitEvent<unknown>) => keys.push(limits[0]!.key)
      const { ask } = await serve({ limiter: limiterOf(two), onDecision, warnings: false, ...options })
      await ask('/', { 'x-forwarded-for': '1.1.1.1, 203.0.113.9' })
      return keys
    }
    expect(await keyWith({})).toStrictEqual(['ip:127.0.0.1'])
    expect(await keyWith({ proxies: { trusted: ['127.0.0.0/8'] } })).toStrictEqual(['ip:203.0.113.9'])
  },

  async 'takes the numbers of a policy directly'({ serve }) {
    const { ask } = await serve({ limit: 2, window: '1m', store: memoryStore() })
    const first = await ask()
    expect(first.headers['x-ratelimit-limit']).toBe('2')
    expect(first.headers['ratelimit-policy']).toBe('"fixed-window-2-60000";q=2;w=60')
    await ask()
    expect(await ask()).toMatchObject({ status: 429, headers: { 'retry-after': '60' } })
    const bucket = await serve({
      algorithm: 'token-bucket',
      capacity: 5,
      refillRate: '1/365d',
      name: 'api',
    })
    expect(limitHeaders(await bucket.ask()).ratelimit).toMatch(/^"api";r=4;/)
  },

  async 'counts by the number of proxies, and no client can choose its key'({ serve }) {
    const keys: string[] = []
    const onDecision = ({ limits }: RateLimitEvent<unknown>) => keys.push(limits[0]!.key)
    const many = limiterOf(fixedWindow({ limit: 100, window: '1m', name: 'many' }))
    const { ask } = await serve({ limiter: many, onDecision, proxies: { hops: 2 } })
    const chains = ['203.0.113.9, 10.0.0.1', '1.1.1.1, 203.0.113.9, 10.0.0.1', 'x, 203.0.113.9, 10.0.0.1']
    for (const chain of chains) await ask('/', { 'x-forwarded-for': chain })
    expect(new Set(keys)).toStrictEqual(new Set(['ip:203.0.113.9']))
    // A chain that is too short did not pass through both proxies.
    keys.length = 0
    await ask('/', { 'x-forwarded-for': '203.0.113.9' })
    await ask('/')
    expect(keys).toStrictEqual(['ip:127.0.0.1', 'ip:127.0.0.1'])
  },

  async 'knows the route of the framework, where it has one'({ serve, framework }) {
    const keys: string[] = []
    const { ask } = await serve({
      limiter: limiterOf(two),
      key: firstOf(byRoute(), byIp()),
      onDecision: ({ limits }) => keys.push(limits[0]!.key),
    })
    await ask('/status/201')
    const { route } = framework
    expect(keys).toStrictEqual([route === undefined ? 'ip:127.0.0.1' : `route:GET ${route}`])
  },

  async 'passes a request without a key, and warns once'({ serve }) {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { ask } = await serve({ limiter: limiterOf(two), key: BY_USER })
    for (let i = 0; i < 3; i++) {
      const answer = await ask()
      expect(answer).toMatchObject({ status: 200, text: 'hello' })
      expect(limitHeaders(answer)).toStrictEqual({})
    }
    expect(warned.mock.calls).toStrictEqual([
      [
        expect.stringMatching(/End the key with a part that every request has.*errors\.md#key_undefined/),
        { type: 'TidegateWarning', code: 'TIDEGATE_KEY_UNDEFINED' },
      ],
    ])
  },

  async 'takes a policy for each request'({ serve }) {
    const plans: Record<string, Policy> = {
      free: fixedWindow({ limit: 1, window: '1m', name: 'free' }),
      paid: fixedWindow({ limit: 100, window: '1m', name: 'paid' }),
    }
    for (const make of [identity, promised]) {
      const { ask } = await serve(({ header }) => ({
        key: BY_USER,
        policy: (request: AnyRequest) => make(plans[header(request, 'x-plan') ?? 'free']!),
      }))
      expect((await ask('/', ALICE)).headers['x-ratelimit-limit']).toBe('1')
      expect((await ask('/', ALICE)).status).toBe(429)
      expect((await ask('/', { ...ALICE, 'x-plan': 'paid' })).headers['x-ratelimit-limit']).toBe('100')
    }
  },

  async 'calls the listeners for every decision and every denied request'({ serve }) {
    const [decided, denied] = [vi.fn(), vi.fn()]
    const { ask } = await serve({
      limiter: limiterOf(fixedWindow({ limit: 1, window: '1m', name: 'one' })),
      onDecision: ({ allowed, decision }) => decided(allowed, decision.policy),
      onDenied: ({ limits, status }) =>
        denied(
          limits.map(({ key }) => key),
          status,
        ),
    })
    await ask()
    await ask()
    expect(decided.mock.calls).toStrictEqual([
      [true, 'one'],
      [false, 'one'],
    ])
    expect(denied.mock.calls).toStrictEqual([[['ip:127.0.0.1'], 429]])
  },

  async 'responds with the status and body of the options'({ serve }) {
    const denialWith = async (options: AnyOptions, headers = {}) => {
      const limiter = limiterOf(fixedWindow({ limit: 1, window: '1m', name: 'one' }))
      const { ask } = await serve({ limiter, ...options })
      await ask()
      const { status, headers: answered, text } = await ask('/', headers)
      expect(answered['retry-after']).toBe('60')
      return [status, answered['content-type']?.split(';')[0], text]
    }
    expect(await denialWith({ status: 420, body: 'Calm down' })).toStrictEqual([
      420,
      'text/plain',
      'Calm down',
    ])
    expect(await denialWith({ body: { slow: 'down' } })).toStrictEqual([
      429,
      'application/json',
      '{"slow":"down"}',
    ])
    expect(await denialWith({ body: ({ decision }) => `Not by ${decision.policy}` })).toStrictEqual([
      429,
      'text/plain',
      'Not by one',
    ])
    const [status, type, text] = await denialWith({ status: 420, format: 'problem' })
    expect([status, type]).toStrictEqual([420, 'application/problem+json'])
    expect(JSON.parse(String(text)).status).toBe(420)
  },

  async 'lets a handler respond'({ serve }) {
    const { ask } = await serve(({ handler }) => ({
      limiter: limiterOf(fixedWindow({ limit: 1, window: '1m', name: 'one' })),
      handler: handler(({ decision, status }) => ({ status: 418, text: `${decision.policy} ${status}` })),
    }))
    await ask()
    const answer = await ask()
    expect(answer).toMatchObject({ status: 418, text: 'one 429' })
    expect(answer.headers['retry-after']).toBe('60')
  },

  async 'counts a HEAD like a GET, and denies it without a body'({ serve }) {
    const rule = { policy: two, match: { methods: ['GET'] }, key: '{method} {path}' }
    const { ask } = await serve({ rules: [rule] })
    const first = await ask('/', {}, 'HEAD')
    expect(first).toMatchObject({ status: 200, text: '' })
    expect(first.headers['x-ratelimit-remaining']).toBe('1')
    await ask()
    const denied = await ask('/', {}, 'HEAD')
    expect(denied).toMatchObject({ status: 429, text: '' })
    expect(denied.headers['content-type']).toMatch(/^application\/json/)
    expect(denied.headers['retry-after']).toMatch(/^\d+$/)
  },

  async 'works with an asynchronous store'({ serve }) {
    const store = promisingStore()
    for (const options of [
      { limiter: createLimiter({ store, policy: two }), key: 'one' },
      { store, policy: two, key: 'two' },
      { store, rules: [{ policy: two }, { policy: fixedWindow({ limit: 5, window: '1m' }) }], key: 'three' },
    ]) {
      const { ask } = await serve(options)
      expect((await ask()).headers['x-ratelimit-remaining']).toBe('1')
      expect(await ask()).toMatchObject({ status: 200, text: 'hello' })
      const denied = await ask()
      expect(denied).toMatchObject({ status: 429, headers: { 'retry-after': '60' } })
    }
  },

  async 'works with a remote limiter that can only check'({ serve }) {
    const limiter = limiterOf(two)
    const remote = { check: async (key: string, cost?: number) => limiter.check(key, cost) }
    const { ask } = await serve({ limiter: remote })
    expect(limitHeaders(await ask())).toMatchObject({
      'x-ratelimit-remaining': '1',
      ratelimit: '"two";r=1;t=60',
      'ratelimit-policy': '"two";q=2',
    })
    await ask()
    expect((await ask()).status).toBe(429)
  },

  async 'store unavailable: open allows, and marks the response'({ serve }) {
    const { ask } = await serve(failing('open'))
    for (let i = 0; i < 3; i++) {
      const answer = await ask()
      expect(answer).toMatchObject({ status: 200, text: 'hello' })
      expect(limitHeaders(answer)).toStrictEqual({
        'x-ratelimit-limit': '2',
        'x-ratelimit-degraded': 'open',
      })
    }
  },

  async 'store unavailable: closed responds with 503'({ serve }) {
    const { ask, application } = await serve(failing('closed'))
    const denied = await ask()
    expect(denied.status).toBe(503)
    expect(denied.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    expect(denied.headers['cache-control']).toBe('no-store')
    expect(limitHeaders(denied)).toStrictEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-degraded': 'closed',
    })
    expect(JSON.parse(denied.text)).toMatchObject({ error: 'rate_limiter_unavailable' })
    const problem = await ask('/', { accept: 'application/problem+json' })
    expect(problem.status).toBe(503)
    expect(JSON.parse(problem.text).type).toMatch(/#temporary-reduced-capacity$/)
    expect(application.handled).toBe(0)
  },

  async 'store unavailable: local counts in this process'({ serve }) {
    const { ask } = await serve(failing('local'))
    const statuses = []
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await ask()
      expect(headers['x-ratelimit-degraded']).toBe('local')
      statuses.push(status)
    }
    expect(statuses).toStrictEqual([200, 200, 429])
  },

  async 'store unavailable: the strictest of several limits decides'({ serve }) {
    const rules = [
      { policy: fixedWindow({ limit: 2, window: '1m', name: 'open' }) },
      { policy: fixedWindow({ limit: 2, window: '1m', name: 'closed', onStoreFailure: 'closed' }) },
    ]
    const { ask } = await serve({ store: failingStore(), rules })
    const denied = await ask()
    expect(denied.status).toBe(503)
    expect(denied.headers['x-ratelimit-degraded']).toBe('closed')
  },

  async 'with failure: false, a failing store is a 500 of the framework'({ serve }) {
    quiet()
    const limiter = createLimiter({ store: failingStore(), policy: two, failure: false })
    const { ask, application } = await serve({ limiter })
    expect((await ask()).status).toBe(500)
    expect(application.handled).toBe(0)
  },

  async 'responds with 500, and charges nothing, if a function of the user throws'({ serve }) {
    quiet()
    const fail = () => {
      throw new Error('error in a function')
    }
    const reject = async () => fail()
    for (const options of [
      { key: fail },
      { key: reject },
      { cost: fail },
      { cost: reject },
      { skip: fail },
      { skip: reject },
      { cost: () => 3 },
      { cost: () => 0.5 },
      { cost: () => undefined as unknown as number },
      { key: () => ({}) as unknown as string },
    ]) {
      const limiter = limiterOf(two)
      const { ask, application } = await serve({ key: 'all', limiter, ...options })
      const { status, text } = await ask()
      expect(status).toBe(500)
      expect(text).not.toBe('hello')
      expect(application.handled).toBe(0)
      expect((await limiter.peek('all')).remaining).toBe(2)
    }
  },

  async 'responds with 500 also if the thrown value is not an error, which frameworks ignore'({ serve }) {
    quiet()
    for (const thrown of [undefined, null, 'route']) {
      const fail = () => {
        throw thrown
      }
      for (const options of [{ key: fail }, { cost: async () => fail() }]) {
        const { ask, application } = await serve({ policy: two, key: 'all', ...options })
        expect((await ask()).status).toBe(500)
        expect(application.handled).toBe(0)
      }
      for (const options of [{ body: fail }, { handler: async () => fail() }]) {
        const policy = fixedWindow({ limit: 1, window: '365d', name: 'one' })
        const { ask, application } = await serve({ policy, key: 'all', ...options })
        expect([(await ask()).status, (await ask()).status]).toStrictEqual([200, 500])
        expect(application.handled).toBe(1)
      }
    }
  },

  async 'responds with 500 if body returns a promise'({ serve }) {
    quiet()
    const body = (async () => 'later') as unknown as () => string
    const { ask, application } = await serve({ policy: two, cost: 2, body })
    await ask()
    expect((await ask()).status).toBe(500)
    expect(application.handled).toBe(1)
  },

  async 'responds with 500 if one key rejects after another has thrown'({ serve }) {
    quiet()
    const fail = () => {
      throw new Error('error in a function')
    }
    const reject = async () => fail()
    for (const key of [undefined, allOf({ resolve: reject }, { resolve: fail })]) {
      const rules = [
        { policy: two, key: key ?? reject },
        { policy: two, key: key ?? fail },
      ]
      const { ask, application } = await serve({ rules })
      expect((await ask()).status).toBe(500)
      expect(application.handled).toBe(0)
    }
  },

  async 'charges no rule if another rule has an error'({ serve }) {
    quiet()
    const store = memoryStore()
    const bad = () => undefined as unknown as Policy
    const { ask } = await serve({ store, key: 'all', rules: [{ policy: two }, { policy: bad }] })
    expect((await ask()).status).toBe(500)
    expect(store.peek({ policy: two, key: 'all', cost: 1 }).remaining).toBe(2)
  },

  async 'holds requests as the leaky bucket says, and denies beyond its capacity'({ serve }) {
    const policy = leakyBucket({ capacity: 2, leakRate: 5, name: 'leaky' })
    const { ask } = await serve({ limiter: limiterOf(policy), queue: true })
    const start = performance.now()
    const took = async () => {
      const { status } = await ask()
      return { status, ms: performance.now() - start }
    }
    const [first, second, third] = await Promise.all([took(), took(), took()])
    const [atOnce, denied, held] = [first, second, third].toSorted((a, b) => a.ms - b.ms)
    expect([atOnce!.status, denied!.status].toSorted()).toStrictEqual([200, 429])
    expect(held!.status).toBe(200)
    expect(held!.ms).toBeGreaterThanOrEqual(195)
  },

  async 'releases a held request whose client disconnects, and keeps its place'({ serve }) {
    const limiter = limiterOf(leakyBucket({ capacity: 3, leakRate: 5, name: 'leaky' }))
    let decided = () => {}
    const both = new Promise<void>((resolve) => {
      decided = resolve
    })
    const onDecision = ({ decision }: RateLimitEvent<unknown>) => {
      if (decision.delayMs > 0) decided()
    }
    const { ask, begin, application } = await serve({ limiter, key: 'all', queue: true, onDecision })
    await ask()
    const queued = begin('/')
    await both
    queued.destroy()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(application.handled).toBe(1)
    expect((await limiter.peek('all')).remaining).toBe(1)
    // The next request waits as if the released one were still held.
    const start = performance.now()
    expect((await ask()).status).toBe(200)
    expect(performance.now() - start).toBeGreaterThanOrEqual(395)
  },

  async 'counts a client that disconnects while a function is pending'({ serve }) {
    const limiter = limiterOf(two)
    const { begin, application } = await serve({
      limiter,
      async skip() {
        request.destroy()
        await new Promise((resolve) => setTimeout(resolve, 50))
        skipped++
        return false
      },
    })
    let skipped = 0
    let request: ClientRequest
    for (let i = 0; i < 4; i++) {
      request = begin('/')
      await expect.poll(() => skipped).toBe(i + 1)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
    await expect.poll(async () => (await limiter.peek('ip:127.0.0.1')).remaining).toBe(0)
    await expect.poll(() => application.handled).toBe(2)
  },

  async 'does not run an uncounted request of a disconnected client'({ serve }) {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    let isKnown = false
    const { begin, application } = await serve({
      policy: two,
      async key() {
        request.destroy()
        await new Promise((resolve) => setTimeout(resolve, 50))
        isKnown = true
        return undefined
      },
    })
    const request = begin('/')
    await expect.poll(() => isKnown).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(application.handled).toBe(0)
  },

  async 'cannot be bypassed by another spelling of the target'({ framework, serve }) {
    const rules = ['/login', '/{locale}/login'].map((path) => ({
      match: { path },
      policy: fixedWindow({ limit: 1, window: '1m', name: path === '/login' ? 'one' : 'other' }),
    }))
    const { ask, application } = await serve({ rules, store: memoryStore() })
    for (const target of ['/login', '/en/login']) expect((await ask(target)).status).toBe(200)
    const targets = ['//login', '/login#x', '/Login/', 'http://host/login']
    if (framework.routesTargets) {
      // A URL parser would change these.
      targets.push('/./login', '/%2e/login', '/../login', '/x\\y/login')
      targets.push('x://y/login', 'http:///login', 'x://y;z/login')
    }
    // Some frameworks reject a target, which is also correct.
    for (const target of targets) expect([400, 404, 429]).toContain((await ask(target)).status)
    expect(application.handled).toBe(2)
  },

  async 'holds no request in a dry run'({ serve }) {
    const limiter = limiterOf(leakyBucket({ capacity: 2, leakRate: '1/1h', name: 'leaky' }))
    const { ask } = await serve({ limiter, queue: true, enforce: false })
    for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200)
  },

  async 'refunds a request by the status of its response'({ serve }) {
    const isReason = (status: number) => status >= 500
    const store = memoryStore()
    const left = (policy: Policy) => store.peek({ policy, key: 'all', cost: 1 }).remaining
    const other = fixedWindow({ limit: 5, window: '1m', name: 'other' })
    for (const options of [
      { limiter: createLimiter({ store, policy: two }), refundWhen: isReason },
      {
        limiter: createLimiter({ store, policy: two }),
        refundWhen: async (status: number) => isReason(status),
      },
      { store, rules: [{ policy: two }, { policy: other }], refundWhen: isReason },
    ]) {
      const { ask } = await serve({ ...options, key: 'all' })
      for (const method of ['GET', 'HEAD']) {
        expect((await ask('/status/503', {}, method)).status).toBe(503)
        await expect.poll(() => left(two)).toBe(2)
      }
      expect((await ask('/status/404')).status).toBe(404)
      await new Promise((resolve) => setTimeout(resolve, 10))
      expect(left(two)).toBe(1)
      store.reset({ policy: two, key: 'all' })
    }
    expect(left(other)).toBe(4)
  },

  async 'refunds nothing before the whole response is sent'({ serve }) {
    const limiter = limiterOf(two)
    const called = vi.fn()
    const refundWhen = (status: number) => {
      called(status)
      return true
    }
    const { ask, begin, application } = await serve({ limiter, key: 'all', refundWhen })
    const first = begin('/held/500')
    await new Promise((resolve) => first.once('response', resolve))
    expect((await limiter.peek('all')).remaining).toBe(1)
    // A cancelled response is not refunded.
    first.destroy()
    const second = ask('/held/500')
    await expect.poll(() => application.handled).toBe(2)
    expect((await limiter.peek('all')).remaining).toBe(0)
    application.release()
    expect((await second).text).toBe('hello')
    await expect.poll(async () => (await limiter.peek('all')).remaining).toBe(1)
    expect(called).toHaveBeenLastCalledWith(500)
  },
}

/** Runs every case of the table on one framework. */
export function describeCases(framework: Framework): void {
  describe(framework.name, () => {
    const closing: (() => Promise<void>)[] = []

    afterEach(async () => {
      vi.restoreAllMocks()
      await Promise.all(closing.splice(0).map((close) => close()))
    })

    async function serve(given: AnyOptions | ((tools: Tools) => AnyOptions)): Promise<Served> {
      const application = createApplication()
      const options = typeof given === 'function' ? given(framework.tools) : given
      const { port, close } = await framework.serve(options, application)
      closing.push(async () => {
        application.release()
        await close()
      })
      const begin = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
        httpRequest({ host: '127.0.0.1', port, path, headers, method, agent: false })
          .on('error', () => {})
          .end()
      return {
        port,
        application,
        begin: (path) => begin(path),
        ask: (path = '/', headers = {}, method = 'GET') => answerTo(begin(path, headers, method)),
      }
    }

    it.each(Object.keys(CASES))('%s', async (title) => {
      await CASES[title]!({ framework, serve })
    })
  })
}

function answerTo(request: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.once('error', reject)
    request.once('response', async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    })
  })
}

function limiterOf(policy: Policy): Limiter {
  return createLimiter({ store: memoryStore(), policy })
}

function failing(onStoreFailure: 'open' | 'closed' | 'local'): AnyOptions {
  const policy = fixedWindow({ limit: 2, window: '365d', name: 'two', onStoreFailure })
  return { limiter: createLimiter({ store: failingStore(), policy }) }
}

/** The rate limit headers of a response. */
function limitHeaders({ headers }: Answer): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.includes('ratelimit')))
}

function prefixed(prefix: string, fields: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [prefix + name, value]))
}

/** Frameworks print errors that become a 500. */
function quiet(): void {
  vi.spyOn(console, 'error').mockImplementation(() => {})
}

function identity<T>(value: T): MaybePromise<T> {
  return value
}

function promised<T>(value: T): MaybePromise<T> {
  return Promise.resolve(value)
}
