import { createLimiter, fixedWindow, MemoryStore, storeFailed } from '@tidegate/core'
import express, { type RequestHandler } from 'express'
import { rateLimit as expressRateLimit, type Options } from 'express-rate-limit'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type ExpressRateLimitOptions, rateLimit } from '../src/frameworks/express.js'
import { listen } from './listen.js'

// Each row of docs/users/migrate-from-express-rate-limit.md, with both packages in front of the same application.

interface Call {
  path?: string
  headers?: Record<string, string>
  /** Moves the time before the request. */
  afterMs?: number
}

interface Answer {
  status: number
  body: string
  headers: Headers
}

afterEach(() => {
  vi.useRealTimers()
})

async function answersOf(middleware: RequestHandler, calls: Call[]): Promise<Answer[]> {
  vi.useFakeTimers({ now: Date.parse('2030-01-01T09:30:17.250Z'), toFake: ['Date'] })
  const app = express()
  app.set('trust proxy', 1)
  app.use(middleware)
  app.get(
    '/status/:status',
    (request, response) => void response.status(Number(request.params.status)).send('done'),
  )
  app.get(
    '/',
    (request, response) =>
      void response.send(String((request as { rateLimit?: object }).rateLimit !== undefined)),
  )
  app.use(
    ((error, _request, response, _next) =>
      void response.status(500).send(String(error.message))) as express.ErrorRequestHandler,
  )
  const { port, close } = await listen(app)
  const answers: Answer[] = []
  try {
    for (const { path = '/', headers = {}, afterMs = 0 } of calls) {
      vi.setSystemTime(Date.now() + afterMs)
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      answers.push({ status: response.status, body: await response.text(), headers: response.headers })
      // A refund is made after the response.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  } finally {
    await close()
  }
  return answers
}

/** The answers of both packages to the same calls. */
async function both(original: Partial<Options>, tidegate: ExpressRateLimitOptions, calls: Call[]) {
  const options = { windowMs: 60_000, validate: false, ...original }
  const own = { limit: 2, window: '1m', start: 'first-request', ...tidegate } as ExpressRateLimitOptions
  return {
    original: await answersOf(expressRateLimit({ limit: 2, ...options }) as unknown as RequestHandler, calls),
    tidegate: await answersOf(rateLimit(own), calls),
  }
}

const statusesOf = (answers: Answer[]) => answers.map(({ status }) => status)
const repeat = (times: number, call: Call = {}) => Array.from({ length: times }, () => call)

async function expectSameStatuses(
  original: Partial<Options>,
  tidegate: ExpressRateLimitOptions,
  calls: Call[],
  statuses: number[],
) {
  const answers = await both(original, tidegate, calls)
  expect(statusesOf(answers.original)).toStrictEqual(statuses)
  expect(statusesOf(answers.tidegate)).toStrictEqual(statuses)
  return answers
}

describe('both packages', () => {
  it('windowMs and limit: the window starts with the first request', async () => {
    const calls = [{}, { afterMs: 30_000 }, { afterMs: 29_999 }, { afterMs: 1 }, {}, {}]
    await expectSameStatuses({}, {}, calls, [200, 200, 429, 200, 200, 429])
  })

  it('limit: (req) => …: a policy for each request', async () => {
    const premium = fixedWindow({ limit: 3, window: '1m', start: 'first-request', name: 'premium' })
    const basic = fixedWindow({ limit: 1, window: '1m', start: 'first-request', name: 'basic' })
    const headers = { 'x-plan': 'premium' }
    const options = {
      policy: (request: express.Request) => (request.get('x-plan') === 'premium' ? premium : basic),
    }
    const calls = [...repeat(4, { headers }), ...repeat(1)]
    const original = await answersOf(
      expressRateLimit({
        windowMs: 60_000,
        limit: (request) => (request.get('x-plan') === 'premium' ? 3 : 1),
      }) as unknown as RequestHandler,
      calls,
    )
    const tidegate = await answersOf(rateLimit(options), calls)
    expect(statusesOf(original)).toStrictEqual([200, 200, 200, 429, 429])
    // Here each policy counts on its own.
    expect(statusesOf(tidegate)).toStrictEqual([200, 200, 200, 429, 200])
  })

  it('keyGenerator: key', async () => {
    const user = (name: string) => ({ headers: { 'x-user-id': name } })
    await expectSameStatuses(
      { keyGenerator: (request) => request.get('x-user-id') ?? 'none' },
      { key: (request) => request.get('x-user-id') ?? 'none' },
      [user('alice'), user('alice'), user('bob'), user('alice')],
      [200, 200, 200, 429],
    )
  })

  it('ipv6Subnet: proxies.ipv6Prefix', async () => {
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
    await expectSameStatuses(
      { ipv6Subnet: 56 },
      { proxies: { hops: 1, ipv6Prefix: 56 } },
      [from('2001:db8:0:1::1'), from('2001:db8:0:2::1'), from('2001:db8:0:3::1'), from('2001:db8:1::1')],
      [200, 200, 429, 200],
    )
  })

  it('skip', async () => {
    const isMonitor = (request: { get(name: string): string | undefined }) =>
      request.get('x-user-id') === 'monitor'
    const monitor = { headers: { 'x-user-id': 'monitor' } }
    const calls = [...repeat(3, monitor), ...repeat(3)]
    await expectSameStatuses({ skip: isMonitor }, { skip: isMonitor }, calls, [200, 200, 200, 200, 200, 429])
  })

  it('message and statusCode: body and status', async () => {
    const answers = await expectSameStatuses(
      { message: 'Slow down', statusCode: 420 },
      { body: 'Slow down', status: 420 },
      repeat(3),
      [200, 200, 420],
    )
    expect(answers.original[2]!.body).toBe('Slow down')
    expect(answers.tidegate[2]!.body).toBe('Slow down')
  })

  it('handler', async () => {
    const answers = await expectSameStatuses(
      { handler: (_request, response) => void response.status(503).send('busy') },
      { handler: (_request, response) => void response.status(503).send('busy') },
      repeat(3),
      [200, 200, 503],
    )
    expect(answers.tidegate[2]!.body).toBe(answers.original[2]!.body)
  })

  it.each([
    [
      'legacyHeaders',
      { legacyHeaders: true },
      ['legacy'],
      ['x-ratelimit-limit', 'x-ratelimit-remaining', 'retry-after'],
    ],
    [
      'standardHeaders: draft-6',
      { standardHeaders: 'draft-6', legacyHeaders: false },
      ['draft-6'],
      ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'ratelimit-policy', 'retry-after'],
    ],
    [
      'standardHeaders: draft-7',
      { standardHeaders: 'draft-7', legacyHeaders: false },
      ['draft-7'],
      ['ratelimit', 'ratelimit-policy', 'retry-after'],
    ],
  ] as const)('%s: the same header values', async (_, original, standards, names) => {
    const answers = await both(original as Partial<Options>, { standards: [...standards] }, repeat(3))
    for (let i = 0; i < 3; i++) {
      for (const name of names) {
        expect([i, name, answers.tidegate[i]!.headers.get(name)]).toStrictEqual([
          i,
          name,
          answers.original[i]!.headers.get(name),
        ])
      }
    }
    expect(answers.tidegate[2]!.headers.get('retry-after')).toBe('60')
  })

  it('identifier: name, in the headers of draft 8', async () => {
    const answers = await both(
      { standardHeaders: 'draft-8', identifier: 'api' },
      { standards: ['draft-8'], name: 'api' },
      repeat(1),
    )
    const [original, tidegate] = [answers.original[0]!.headers, answers.tidegate[0]!.headers]
    expect(original.get('ratelimit')).toMatch(/^"api"; ?r=1; ?t=60$/)
    expect(tidegate.get('ratelimit')).toMatch(/^"api"; ?r=1; ?t=60$/)
    expect(original.get('ratelimit-policy')).toMatch(/^"api"; ?q=2; ?w=60/)
    expect(tidegate.get('ratelimit-policy')).toMatch(/^"api"; ?q=2; ?w=60/)
  })

  it('skipFailedRequests: refundWhen', async () => {
    const failed = { path: '/status/500' }
    const calls = [failed, failed, { path: '/status/404' }, {}, {}, {}]
    await expectSameStatuses(
      { skipFailedRequests: true },
      { refundWhen: (status) => status >= 400 },
      calls,
      [500, 500, 404, 200, 200, 429],
    )
  })

  it('skipSuccessfulRequests: refundWhen', async () => {
    const wrong = { path: '/status/401' }
    await expectSameStatuses(
      { skipSuccessfulRequests: true },
      { refundWhen: (status) => status < 400 },
      [...repeat(4), wrong, wrong, {}],
      [200, 200, 200, 200, 401, 401, 429],
    )
  })

  it('requestWasSuccessful: refundWhen', async () => {
    const found = { path: '/status/404' }
    await expectSameStatuses(
      {
        skipSuccessfulRequests: true,
        requestWasSuccessful: (_request, response) => response.statusCode === 404,
      },
      { refundWhen: (status) => status === 404 },
      [...repeat(3, found), ...repeat(3)],
      [404, 404, 404, 200, 200, 429],
    )
  })

  it('requestPropertyName: onDecision', async () => {
    const { original, tidegate } = await both(
      {},
      {
        onDecision: ({ request, decision }) => {
          Object.assign(request, { rateLimit: { limit: decision.limit, remaining: decision.remaining } })
        },
      },
      repeat(1),
    )
    expect([original[0]!.body, tidegate[0]!.body]).toStrictEqual(['true', 'true'])
  })

  it.each([
    ['true', true, { onStoreFailure: 'open' }, 200, 200],
    ['false', false, { onStoreFailure: 'closed' }, 500, 503],
    ['false, and no fallback', false, { failure: false }, 500, 500],
  ] as const)(
    'passOnStoreError: %s',
    async (_, passOnStoreError, options, originalStatus, tidegateStatus) => {
      const failing = () => Promise.reject(storeFailed('unreachable', 'The store is down.'))
      const originalStore = { increment: failing, decrement: failing, resetKey: failing }
      const logger = { error: () => {}, warn: () => {} }
      const store = {
        check: failing,
        take: failing,
        peek: failing,
        refund: failing,
        reset: failing,
        close: () => {},
      }
      const original = { store: originalStore, passOnStoreError, logger } as unknown as Partial<Options>
      const failure = 'failure' in options ? {} : { failure: { onEvent: () => {} } }
      const answers = await both(original, { ...options, ...failure, store }, repeat(1))
      expect([answers.original[0]!.status, answers.tidegate[0]!.status]).toStrictEqual([
        originalStatus,
        tidegateStatus,
      ])
    },
  )

  it('resetKey and getKey: reset and peek', async () => {
    const key = 'user:123'
    const original = expressRateLimit({ windowMs: 60_000, limit: 2, keyGenerator: () => key })
    const store = new MemoryStore()
    const limiter = createLimiter({
      store,
      policy: fixedWindow({ limit: 2, window: '1m', start: 'first-request', name: 'api' }),
    })
    await answersOf(original as unknown as RequestHandler, repeat(2))
    await answersOf(rateLimit({ limiter, key: () => key }), repeat(2))
    expect((await original.getKey(key))!.totalHits).toBe(2)
    expect(limiter.peek(key).remaining).toBe(0)
    original.resetKey(key)
    limiter.reset(key)
    expect(await original.getKey(key)).toBeUndefined()
    expect(limiter.peek(key).remaining).toBe(2)
  })

  it('denied requests count: countDenied', async () => {
    const original = expressRateLimit({ windowMs: 60_000, limit: 2, keyGenerator: () => 'key' })
    await answersOf(original as unknown as RequestHandler, repeat(5))
    expect((await original.getKey('key'))!.totalHits).toBe(5)
    const policy = fixedWindow({ limit: 2, window: '1m', start: 'first-request', countDenied: true })
    const limiter = createLimiter({ policy, store: new MemoryStore() })
    await answersOf(rateLimit({ limiter, key: () => 'key' }), repeat(5))
    // One more unit shows how many were counted.
    expect(limiter.charge('key', 1).overBy).toBe(4)
  })
})
