import { createServer } from 'node:net'
import { fixedWindow, type Policy } from '@tidegate/core'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { type Handler, serve } from '../../test/http-server.js'
import { createRemoteLimiter, type RemoteLimiter } from './remote-limiter.js'
import { createRemoteStore } from './remote-store.js'

// Faulty servers. Tests with the real service are in remote-limiter.service.test.ts.

const policy = fixedWindow({ limit: 10, window: '1h', name: 'per-user' })
const allowed = {
  allowed: true,
  key: 'k',
  algorithm: 'FIXED_WINDOW',
  policy: 'per-user',
  limit: 10,
  remaining: 9,
  resetAfterSeconds: 60,
  retryAfterSeconds: 0,
  message: 'Request allowed',
}

/** Responds to every check with a valid decision. */
const valid: Handler = ({ path, body }, response) => {
  response.setHeader('content-type', 'application/json')
  if (path.startsWith('/api/v1/rate-limit/remaining')) return void response.end(JSON.stringify(allowed))
  const { checks } = JSON.parse(body)
  response.end(
    JSON.stringify(checks === undefined ? allowed : { allowed: true, results: checks.map(() => allowed) }),
  )
}

const never: Handler = () => {}

describe('an invalid response counts as a failure of the service, and onStoreFailure decides:', () => {
  const json = (status: number, body: unknown, headers = {}): Handler => {
    return (_received, response) => response.writeHead(status, headers).end(JSON.stringify(body))
  }
  const text = (status: number, body: string, headers = {}): Handler => {
    return (_received, response) => response.writeHead(status, headers).end(body)
  }
  it.each<[string, Handler]>([
    ['a page', text(200, '<html>')],
    ['nothing', text(200, '')],
    ['a list', json(200, [])],
    ['JSON that is not a decision', json(200, { hello: 'world' })],
    ['a decision that is text', json(200, { ...allowed, allowed: 'true' })],
    ['a negative limit', json(200, { ...allowed, limit: -1 })],
    ['a redirect', text(307, '', { location: '/elsewhere' })],
    ['500', json(500, { error: 'internal_server_error', message: 'oops' })],
    ['502 of a proxy', text(502, 'Bad Gateway')],
    ['503 of a proxy', text(503, 'Service Unavailable', { 'retry-after': '5' })],
    ['429 of a proxy', text(429, '{"message":"too many"}', { 'retry-after': '5' })],
    ['404 of another server', text(404, 'Not Found')],
    ['400 about an unknown field', json(400, { error: 'bad_request', message: 'no', field: 'permit' })],
    ['413', json(413, { error: 'payload_too_large', message: 'The body is too large' })],
    ['a connection that is closed', (_received, response) => response.destroy()],
    [
      'half of a response',
      (_received, response) => response.writeHead(200, { 'content-length': '99' }).write('{"al'),
    ],
  ])('%s', async (_title, handler) => {
    const { url, received } = await serve(handler)
    const onEvent = (event: object) => events.push(event)
    const events: object[] = []
    const limiter = createRemoteLimiter({ url, policy, connectTimeoutMs: 2000, onEvent })
    const decision = await limiter.check('k', 2)
    expect(decision).toMatchObject({
      allowed: true,
      degraded: 'open',
      limit: 10,
      cost: 2,
      policy: 'per-user',
    })
    expect(events).toContainEqual({ type: 'degraded', mode: 'open', reason: 'failure' })
    // The check may have been counted, so it must not be sent again.
    expect(received).toHaveLength(1)
  })

  it('a wrong path in the url, with the message of the service', async () => {
    const { url } = await serve(
      json(404, { error: 'not_found', message: 'Unknown path "/x/api"; see /docs.' }),
    )
    const store = createRemoteStore({ url })
    const error = await store.reset({ policy, key: 'k' }).catch((error: Error) => error)
    expect(error).toMatchObject({
      code: 'STORE_FAILED',
      message:
        'The call to the service failed: it responded with status 404: Unknown path "/x/api"; see /docs.',
    })
  })

  it('an endless response, which is read up to a limit', async () => {
    let megabytes = 0
    let isClosed = false
    const { url } = await serve((_received, response) => {
      const write = () => {
        while (megabytes++ < 1000 && response.write(' '.repeat(1024 * 1024)));
      }
      response.on('drain', write).on('close', () => {
        isClosed = true
      })
      write()
    })
    const limiter = createRemoteLimiter({ url, policy, connectTimeoutMs: 3000 })
    expect(await limiter.check('k')).toMatchObject({ allowed: true, degraded: 'open' })
    await expect.poll(() => isClosed).toBe(true)
    expect(megabytes).toBeLessThan(32)
  })

  it('also in a batch with an incomplete response', async () => {
    const results = [allowed, { ...allowed, limit: null }]
    const { url, received } = await serve(json(200, { allowed: true, results }))
    const limiter = createRemoteLimiter({ url, policy })
    const decisions = await Promise.all([limiter.check('a'), limiter.check('b')])
    expect(decisions.map(({ degraded }) => degraded)).toStrictEqual(['open', 'open'])
    expect(received).toHaveLength(1)
  })
})

it.each([
  [
    'by its header',
    {},
    { 'x-ratelimit-degraded': 'closed', 'x-ratelimit-limit': '7', 'retry-after': '4' },
    7,
    4000,
  ],
  ['by its body', { error: 'rate_limiter_unavailable', message: 'no', retry_after: 4 }, {}, 10, 4000],
])(
  'treats a 503 of a closed policy, recognized %s, as a denial',
  async (_title, body, headers, limit, retryAfterMs) => {
    const { url } = await serve((_received, response) =>
      response.writeHead(503, headers).end(JSON.stringify(body)),
    )
    const limiter = createRemoteLimiter({ url, policy })
    expect(await limiter.check('k')).toMatchObject({
      allowed: false,
      degraded: 'closed',
      limit,
      retryAfterMs,
    })
  },
)

it('reports the fallback of a service without its store, by the header', async () => {
  const { url } = await serve((_received, response) => {
    response.writeHead(200, { 'x-ratelimit-degraded': 'local' }).end(JSON.stringify(allowed))
  })
  expect(await createRemoteLimiter({ url, policy }).check('k')).toMatchObject({
    allowed: true,
    degraded: 'local',
  })
})

describe('a decision from a lease of the service', () => {
  it.each<[title: string, sent: number | null, refundOf: object | undefined]>([
    ['is refunded by the time of its lease', 1_800_000_000_000, { timeMs: 1_800_000_000_000, permits: 1 }],
    ['of a token bucket is not refunded', null, undefined],
  ])('%s', async (_, timeMs, refundOf) => {
    const refunds: object[] = []
    const { url } = await serve(({ path, body }, response) => {
      const isRefund = path.endsWith('/refund')
      if (isRefund) refunds.push(JSON.parse(body))
      response.end(JSON.stringify(isRefund ? { refunded: 1 } : { ...allowed, timeMs, leased: true }))
    })
    const limiter = createRemoteLimiter({ url, policy: 'per-user' })
    const decision = await limiter.check('k')
    expect(decision).toMatchObject({ allowed: true, leased: true })
    expect(await limiter.refund('k', decision)).toBe(refundOf === undefined ? 0 : 1)
    expect(refunds).toStrictEqual(
      refundOf === undefined ? [] : [{ ...refundOf, key: 'k', policy: 'per-user' }],
    )
  })

  it('has leased in a take', async () => {
    const { url } = await serve((_received, response) => {
      response.end(JSON.stringify({ allowed: true, results: [{ ...allowed, leased: true }] }))
    })
    const { decisions } = await createRemoteStore({ url }).take([{ policy, key: 'k', cost: 1 }])
    expect(decisions).toMatchObject([{ leased: true }])
  })
})

it('sends every check of a policy with a lease to the service', async () => {
  const { url } = await serve(valid)
  const leased = fixedWindow({ limit: 10, window: '1h', name: 'per-user', lease: true })
  const limiter = createRemoteLimiter({ url, policy: leased })
  expect(limiter.policy).toBe(leased)
  const decisions = await Promise.all(Array.from({ length: 5 }, () => limiter.check('k')))
  for (const decision of decisions) expect(decision).toMatchObject({ allowed: true, remaining: 9 })
  expect(decisions.some(({ degraded, leased }) => degraded || leased)).toBe(false)
})

describe('when the service does not respond', () => {
  it.each([
    ['open', 'per-user', true],
    ['closed', 'per-user', false],
    ['open', policy, true],
    ['closed', policy, false],
  ] as const)('%s is the decision', async (onStoreFailure, which, isAllowed) => {
    const { url } = await serve(never)
    // Long enough to connect on a busy machine: a check that was never sent is counted locally.
    const limiter = createRemoteLimiter({ url, policy: which, onStoreFailure, connectTimeoutMs: 1000 })
    const limit = typeof which === 'string' ? 0 : 10
    const decision = await limiter.check('k')
    expect(decision).toMatchObject({ allowed: isAllowed, degraded: onStoreFailure, limit, remaining: 0 })
    expect(decision.retryAfterMs).toBe(isAllowed ? 0 : 1000)
  })

  it('local counts in this process, by the numbers of the policy', async () => {
    const { url } = await serve(never)
    const shared = { limit: 10, window: '1h', name: 'per-user', instances: 5 } as const
    const limiter = createRemoteLimiter({
      url,
      policy: fixedWindow(shared),
      onStoreFailure: 'local',
      connectTimeoutMs: 50,
      deadlineMs: 50,
    })
    expect(limiter.policy).toMatchObject({ ...shared, window: 3_600_000, onStoreFailure: 'local' })
    const decisions = []
    for (let i = 0; i < 3; i++) decisions.push(await limiter.check('k'))
    expect(decisions.map((decision) => decision.allowed)).toStrictEqual([true, true, false])
    expect(decisions.map((decision) => decision.degraded)).toStrictEqual(['local', 'local', 'local'])
  })

  it('every check is decided within its deadline, and unsent checks are never sent', async () => {
    const { url, received } = await serve((one, response, nth) =>
      nth === 1 ? valid(one, response, nth) : undefined,
    )
    const limiter = createRemoteLimiter({ url, policy, deadlineMs: 100, maxInFlight: 1000 })
    await limiter.check('first')
    const tookMs: number[] = []
    const checks = Array.from({ length: 200 }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, i / 4))
      const start = performance.now()
      const { degraded } = await limiter.check(`k:${i}`)
      tookMs.push(performance.now() - start)
      return degraded
    })
    expect(new Set(await Promise.all(checks))).toStrictEqual(new Set(['open']))
    expect(Math.max(...tookMs)).toBeLessThan(1000)
    await new Promise((resolve) => setTimeout(resolve, 300))
    // The four calls that were in flight, and the probes of the circuit breaker.
    const sent = received.flatMap(({ body }) => JSON.parse(body).checks ?? [JSON.parse(body)])
    expect(received.length).toBeLessThanOrEqual(8)
    expect(new Set(sent.map(({ key }: { key: string }) => key)).size).toBe(sent.length)
  })

  it('a decision without the service has the last limit of the service', async () => {
    let isUp = true
    const { url } = await serve((one, response, nth) =>
      isUp ? valid(one, response, nth) : response.destroy(),
    )
    const limiter = createRemoteLimiter({ url, policy: 'per-user' })
    await limiter.check('k')
    isUp = false
    expect(await limiter.check('k')).toMatchObject({
      allowed: true,
      degraded: 'open',
      limit: 10,
      remaining: 0,
    })
  })

  it('a server that does not listen is a failure too', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => free.once('listening', resolve))
    const { port } = free.address() as { port: number }
    await new Promise((resolve) => free.close(resolve))
    const limiter = createRemoteLimiter({ url: `http://127.0.0.1:${port}`, policy })
    await expect(limiter.ready()).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('ECONNREFUSED'),
    })
    expect(await limiter.check('k')).toMatchObject({ allowed: true, degraded: 'open' })
    await expect(limiter.reset('k')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})

describe('a flood does not bypass the limit', () => {
  const flood = async (limiter: RemoteLimiter) => {
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.check('k')))
    return decisions.slice(20)
  }

  it('with numbers it is counted in this process', async () => {
    const { url } = await serve(never)
    const options = { url, policy, maxInFlight: 20, connectTimeoutMs: 50, deadlineMs: 50 }
    const beyond = await flood(createRemoteLimiter(options))
    expect(beyond.filter((decision) => decision.allowed)).toHaveLength(10)
    expect(new Set(beyond.map(({ degraded }) => degraded))).toStrictEqual(new Set(['local']))
  })

  it('without numbers it is denied', async () => {
    const { url } = await serve(never)
    const options = { url, policy: 'per-user', maxInFlight: 20, connectTimeoutMs: 50, deadlineMs: 50 }
    const beyond = await flood(createRemoteLimiter(options))
    for (const decision of beyond) {
      expect(decision).toMatchObject({ allowed: false, degraded: 'closed', limit: 0, retryAfterMs: 1000 })
    }
  })

  it('of peeks opens a few connections only', async () => {
    let open = 0
    let most = 0
    const { url } = await serve((one, response, nth) => {
      most = Math.max(most, ++open)
      setTimeout(() => {
        open--
        valid(one, response, nth)
      }, 5)
    })
    const limiter = createRemoteLimiter({ url, policy, deadlineMs: 5000 })
    const looks = await Promise.all(Array.from({ length: 200 }, (_, i) => limiter.peek(`k:${i}`)))
    expect(looks.every(({ degraded }) => degraded === undefined)).toBe(true)
    expect(most).toBeLessThanOrEqual(16)
  })
})

it('one lost connection degrades its own check only, and not those after it', async () => {
  const { url } = await serve((one, response, nth) =>
    nth === 2 ? response.destroy() : valid(one, response, nth),
  )
  const limiter = createRemoteLimiter({ url, policy })
  const decisions = []
  for (let i = 0; i < 4; i++) decisions.push(await limiter.check('k'))
  expect(decisions.map(({ degraded }) => degraded)).toStrictEqual([undefined, 'open', undefined, undefined])
})

it('keeps its connections', async () => {
  const { url, received } = await serve(valid)
  const limiter = createRemoteLimiter({ url, policy })
  for (let i = 0; i < 20; i++) await limiter.check('k')
  expect(received).toHaveLength(20)
  // fetch opens a second connection if the first is not free yet.
  expect(new Set(received.map(({ port }) => port)).size).toBeLessThanOrEqual(2)
})

it('sends requests below the path of its url, with its token', async () => {
  const { url, received } = await serve(valid)
  const options = { url: new URL(`${url}/limits/`), policy, token: 'a-token' }
  await createRemoteLimiter(options).check('k')
  expect(received[0]).toMatchObject({
    method: 'POST',
    path: '/limits/api/v1/rate-limit/check',
    headers: { authorization: 'Bearer a-token', accept: 'application/json' },
  })
})

it('does not send its token to the target of a redirect', async () => {
  const other = await serve(valid)
  const { url } = await serve((_received, response) => response.writeHead(308, { location: other.url }).end())
  const limiter = createRemoteLimiter({ url, policy, token: 'a-token' })
  expect(await limiter.check('k')).toMatchObject({ degraded: 'open' })
  expect(other.received).toHaveLength(0)
})

it('does not keep a program running', async () => {
  const { url } = await serve(valid)
  const limiter = createRemoteLimiter({ url, policy })
  await limiter.check('k')
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  await expect.poll(timers, { timeout: 5000 }).toBeLessThanOrEqual(1)
  onTestFinished(async () => limiter.store.close())
})

it('rejects checks once it is closed', async () => {
  const { url } = await serve(valid)
  const limiter = createRemoteLimiter({ url, policy })
  await limiter.store.close()
  await expect(limiter.check('k')).rejects.toMatchObject({ code: 'STORE_FAILED' })
  const store = createRemoteStore({ url })
  await store.close()
  await expect(store.check({ policy, key: 'k', cost: 1 })).rejects.toMatchObject({ code: 'STORE_FAILED' })
})

it('has the policy, or its name if the option is a name', () => {
  const url = 'http://127.0.0.1:8080'
  expectTypeOf(createRemoteLimiter({ url, policy }).policy).toEqualTypeOf<Policy>()
  expectTypeOf(createRemoteLimiter({ url, policy: 'per-user' }).policy).toEqualTypeOf<string>()
  expectTypeOf(createRemoteLimiter({ url, algorithm: 'TOKEN_BUCKET' }).policy).toEqualTypeOf<string>()
  expect(createRemoteLimiter({ url, algorithm: 'leaky-bucket' }).policy).toBe('leaky_bucket')
})

const url = 'http://127.0.0.1:8080'
it.each<[string, object, string, string?]>([
  ['an unknown option', { url, policy, timeout: 5 }, 'timeout'],
  ['no url', { policy }, 'url'],
  ['a url without a scheme', { url: '127.0.0.1:8080', policy }, 'url'],
  ['a url with a user', { url: 'http://me:secret@127.0.0.1', policy }, 'url'],
  ['a url with a query', { url: `${url}?a=1`, policy }, 'url'],
  ['neither policy nor algorithm', { url }, 'policy'],
  ['both', { url, policy, algorithm: 'TOKEN_BUCKET' }, 'policy'],
  ['an unknown algorithm', { url, algorithm: 'BUCKET' }, 'algorithm'],
  ['an algorithm by the name of a method', { url, algorithm: 'toString' }, 'algorithm'],
  ['an invalid name', { url, policy: 'Per User' }, 'name', 'POLICY_INVALID'],
  ['an object that only looks like a policy', { url, policy: { name: 'x' } }, 'policy', 'POLICY_INVALID'],
  ['local without numbers', { url, policy: 'per-user', onStoreFailure: 'local' }, 'onStoreFailure'],
  [
    'an unknown onStoreFailure',
    { url, policy, onStoreFailure: 'opened' },
    'onStoreFailure',
    'POLICY_INVALID',
  ],
  ['a token with a line break', { url, policy, token: 'a\nb' }, 'token'],
  ['an admin token with a space', { url, policy, adminToken: 'a b' }, 'adminToken'],
  ['no time', { url, policy, deadlineMs: 0 }, 'deadlineMs'],
  ['a fetch that is not a function', { url, policy, fetch: 'fetch' }, 'fetch'],
])('rejects %s', (_title, options, field, code = 'OPTION_INVALID') => {
  expect(() => createRemoteLimiter(options as never)).toThrow(expect.objectContaining({ code, field }))
})

it('does not show a secret in an error message', () => {
  const url = 'http://127.0.0.1:8080'
  expect(() => createRemoteStore({ url, token: 'secret\n' })).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  )
})
