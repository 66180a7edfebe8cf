import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { serve } from '../../test/http-server.js'
import { createVirtualTime } from '../../test/virtual-time.js'
import type { Fetch } from '../fetch.js'
import { withBackoff } from './backoff.js'
import type { BackoffOptions, BackoffWait } from './backoff-options.js'

const START = Date.parse('2030-01-01T10:00:00Z')
const API_URL = 'http://api.test/orders'

type Scripted = { status: number; headers?: Record<string, string> } | Error

/** A fetch that returns these responses in order, the last one repeatedly, and records its calls. */
function scripted(now: () => number, answers: readonly Scripted[]) {
  const calledMs: number[] = []
  const fetch: Fetch = async () => {
    const answer = answers[Math.min(calledMs.push(now()) - 1, answers.length - 1)]!
    if (answer instanceof Error) throw answer
    return new Response(`answer ${calledMs.length}`, answer)
  }
  return { fetch, calledMs }
}

/** Calls with backoff in virtual time. */
async function call(answers: readonly Scripted[], options: BackoffOptions = {}, init?: RequestInit) {
  const time = createVirtualTime(START)
  const { fetch, calledMs } = scripted(time.now, answers)
  const waits: BackoffWait[] = []
  const { now, wait } = time
  const patient = withBackoff(fetch, {
    now,
    wait,
    random: () => 0.5,
    onWait: (one) => waits.push(one),
    ...options,
  })
  const result = await time.run(patient(API_URL, init)).catch((error: Error) => error)
  const sentMs = calledMs.map((ms) => ms - START)
  return { result, waits, sentMs, status: result instanceof Response ? result.status : result.message }
}

const denied = (retryAfter: string) => ({ status: 429, headers: { 'retry-after': retryAfter } })
const ok = { status: 200 }
const broken = new TypeError('fetch failed')

describe('a wait', () => {
  it.each<[string, Scripted[], BackoffOptions, number[]]>([
    ['is not needed if the first response is final', [ok], {}, [0]],
    ['is the requested time and a random part', [denied('7'), ok], {}, [0, 7500]],
    ['can be requested as a date', [denied('Tue, 01 Jan 2030 10:00:09 GMT'), ok], {}, [0, 9500]],
    ['follows the latest response', [denied('1'), denied('2'), ok], {}, [0, 1500, 4500]],
    ['is at most maxRetryAfterMs and a random part', [denied('60'), ok], {}, [0, 60_500]],
    ['is random if the server requests none', [{ status: 503 }, ok], {}, [0, 500]],
    ['is random if Retry-After is not valid', [denied('soon'), ok], {}, [0, 500]],
    ['is random if there is no response', [broken, ok], {}, [0, 500]],
    [
      'doubles its random part up to maxBackoffMs',
      [broken, broken, broken, broken, ok],
      { maxBackoffMs: 3000 },
      [0, 500, 1500, 3000, 4500],
    ],
    [
      'is the reset of an exhausted quota if a denial has no Retry-After',
      [{ status: 429, headers: { ratelimit: '"a";r=0;t=6, "b";r=5;t=90' } }, ok],
      {},
      [0, 6500],
    ],
    [
      'is random after a failure, also if a quota is exhausted',
      [{ status: 503, headers: { ratelimit: '"a";r=0;t=6' } }, ok],
      {},
      [0, 500],
    ],
  ])('%s', async (_title, answers, options, sentMs) => {
    const { status, ...result } = await call(answers, options)
    expect(status).toBe(200)
    expect(result.sentMs).toStrictEqual(sentMs)
  })

  it('is reported before it begins', async () => {
    const { waits } = await call([denied('7'), broken, ok])
    const about = { method: 'GET', url: API_URL }
    expect(waits).toStrictEqual([
      { ...about, reason: 'status', status: 429, waitMs: 7500, requestedMs: 7000, attempts: 1 },
      { ...about, reason: 'no-response', error: broken, waitMs: 1000, attempts: 2 },
    ])
  })

  it('is at least the requested time, and at most that plus the random part', () => {
    const cases = fc.record({
      seconds: fc.nat(60),
      chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      firstBackoffMs: fc.nat(5000),
      maxBackoffMs: fc.nat(20_000),
      denials: fc.integer({ min: 1, max: 4 }),
    })
    return fc.assert(
      fc.asyncProperty(cases, async ({ seconds, chance, denials, ...bounds }) => {
        const answers = [...Array(denials).fill(denied(String(seconds))), ok]
        const { waits, status } = await call(answers, { ...bounds, random: () => chance })
        expect(status).toBe(200)
        expect(waits).toHaveLength(denials)
        for (const [i, { waitMs }] of waits.entries()) {
          expect(waitMs).toBeGreaterThanOrEqual(seconds * 1000)
          const onTop = Math.min(bounds.maxBackoffMs, bounds.firstBackoffMs * 2 ** i)
          expect(waitMs).toBeLessThanOrEqual(seconds * 1000 + onTop)
        }
      }),
      { seed: 6585, numRuns: 200 },
    )
  })
})

describe('gives up and returns the last result', () => {
  it.each<[string, Scripted[], BackoffOptions, string | number, number]>([
    ['after five attempts', [denied('1')], {}, 429, 5],
    ['after maxAttempts', [broken], { maxAttempts: 2 }, 'fetch failed', 2],
    ['if the requested wait is too long', [denied('61')], {}, 429, 1],
    ['if the requested wait is infinite', [denied('9'.repeat(400))], {}, 429, 1],
    ['before the total wait could exceed maxTotalWaitMs', [denied('10')], { maxTotalWaitMs: 30_000 }, 429, 3],
    ['not while it could not', [denied('10')], { maxTotalWaitMs: 11_000 }, 429, 2],
    ['at once if a response is final', [{ status: 500 }], {}, 500, 1],
    ['at once with a maxTotalWaitMs of 0', [denied('1')], { maxTotalWaitMs: 0 }, 429, 1],
  ])('%s', async (_title, answers, options, status, attempts) => {
    const result = await call(answers, options)
    expect(result.status).toBe(status)
    expect(result.sentMs).toHaveLength(attempts)
  })

  it('with a body that can still be read', async () => {
    const { result } = await call([denied('61')])
    expect(await (result as Response).text()).toBe('answer 1')
  })
})

describe('only safe requests are retried:', () => {
  const stream = () => new ReadableStream({ start: (controller) => controller.close() })
  it.each<[string, RequestInit & { duplex?: 'half' }, number]>([
    ['GET', {}, 2],
    ['HEAD', { method: 'HEAD' }, 2],
    ['OPTIONS', { method: 'OPTIONS' }, 2],
    ['PUT', { method: 'PUT', body: 'x' }, 2],
    ['delete in lower case', { method: 'delete' }, 2],
    ['not POST', { method: 'POST', body: 'x' }, 1],
    ['not PATCH', { method: 'PATCH', body: 'x' }, 1],
    [
      'POST with an Idempotency-Key',
      { method: 'POST', body: 'x', headers: { 'Idempotency-Key': '8e03' } },
      2,
    ],
    ['PUT of a form', { method: 'PUT', body: new URLSearchParams('a=1') }, 2],
    ['PUT of bytes', { method: 'PUT', body: new Uint8Array(3) }, 2],
    ['not PUT of a stream', { method: 'PUT', body: stream(), duplex: 'half' }, 1],
  ])('%s', async (_title, init, times) => {
    for (const answer of [denied('1'), broken]) {
      expect((await call([answer, ok], {}, init)).sentMs).toHaveLength(times)
    }
  })

  it('requests with the methods and statuses of the options', async () => {
    const post = { method: 'POST', body: 'x' }
    expect((await call([denied('1'), ok], { methods: ['POST'] }, post)).sentMs).toHaveLength(2)
    expect((await call([denied('1'), ok], { methods: ['POST'] })).sentMs).toHaveLength(1)
    expect((await call([{ status: 500 }, ok], { statuses: [500] })).sentMs).toHaveLength(2)
    expect((await call([denied('1'), ok], { statuses: [500] })).sentMs).toHaveLength(1)
  })

  it('a Request, unless it has a body, which is a stream', async () => {
    const time = createVirtualTime(START)
    for (const [request, times] of [
      [new Request(API_URL, { headers: { 'x-a': '1' } }), 2],
      [new Request(API_URL, { method: 'PUT', body: 'x' }), 1],
      [new Request(API_URL, { method: 'POST', headers: { 'idempotency-key': '1' } }), 2],
    ] as const) {
      const { fetch, calledMs } = scripted(time.now, [denied('1'), ok])
      await time.run(withBackoff(fetch, { now: time.now, wait: time.wait })(request))
      expect(calledMs).toHaveLength(times)
    }
  })

  it('no request that fetch would reject', async () => {
    let calls = 0
    const patient = withBackoff(async () => {
      calls++
      return new Response()
    })
    await expect(patient('no address')).rejects.toThrow(TypeError)
    await expect(patient(API_URL, { method: 'A B' })).rejects.toThrow(TypeError)
    await expect(patient(API_URL, { headers: { 'a b': '1' } })).rejects.toThrow(TypeError)
    expect(calls).toBe(0)
  })

  it.each(['ftp://api.test/', 'htpp://api.test/'])('not %s, which is not an HTTP URL', async (url) => {
    const waits: BackoffWait[] = []
    const patient = withBackoff(fetch, { wait: async () => {}, onWait: (one) => waits.push(one) })
    await expect(patient(url)).rejects.toThrow('fetch failed')
    expect(waits).toStrictEqual([])
  })
})

describe('a signal', () => {
  it('ends a wait, with its reason', async () => {
    const time = createVirtualTime(START)
    const { fetch, calledMs } = scripted(time.now, [denied('30')])
    const controller = new AbortController()
    const onWait = () => setImmediate(() => controller.abort(new Error('gone')))
    const wait = (_ms: number, signal: AbortSignal | undefined) =>
      new Promise<void>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
    const patient = withBackoff(fetch, { now: time.now, wait, onWait })
    await expect(patient(API_URL, { signal: controller.signal })).rejects.toThrow('gone')
    expect(calledMs).toHaveLength(1)
  })

  it('ends a real wait, as an option or in a Request', async () => {
    const { url, received } = await serve((_request, response) => {
      response.writeHead(503, { 'retry-after': '30' }).end('busy')
    })
    for (const asInit of [true, false]) {
      const signal = AbortSignal.timeout(150)
      const start = performance.now()
      const pending = asInit ? withBackoff()(url, { signal }) : withBackoff()(new Request(url, { signal }))
      await expect(pending).rejects.toMatchObject({ name: 'TimeoutError' })
      expect(performance.now() - start).toBeLessThan(5000)
    }
    expect(received).toHaveLength(2)
  })

  it('that aborted a request prevents a retry', async () => {
    const controller = new AbortController()
    let calls = 0
    const patient = withBackoff(async () => {
      calls++
      controller.abort(new Error('gone'))
      throw controller.signal.reason
    })
    await expect(patient(API_URL, { signal: controller.signal })).rejects.toThrow('gone')
    expect(calls).toBe(1)
  })
})

it('never retries a real server too early', async () => {
  const cameMs: number[] = []
  const { url, received } = await serve((_request, response, nth) => {
    cameMs.push(performance.now())
    if (nth === 1) response.writeHead(429, { 'retry-after': '1', connection: 'keep-alive' }).end('slow down')
    else response.end('welcome')
  })
  const response = await withBackoff(fetch, { firstBackoffMs: 10 })(`${url}/a?b=1#c`, {
    headers: { 'x-a': 'é' },
  })
  expect(await response.text()).toBe('welcome')
  expect(cameMs[1]! - cameMs[0]!).toBeGreaterThanOrEqual(1000)
  expect(received.map(({ path, headers }) => [path, headers['x-a']])).toStrictEqual([
    ['/a?b=1', 'é'],
    ['/a?b=1', 'é'],
  ])
})

it('sends the same body again', async () => {
  const { url, received } = await serve((_request, response, nth) => {
    response.writeHead(nth < 3 ? 503 : 200).end()
  })
  await withBackoff(fetch, { firstBackoffMs: 1 })(url, { method: 'PUT', body: '{"a":1}' })
  expect(received.map(({ body }) => body)).toStrictEqual(['{"a":1}', '{"a":1}', '{"a":1}'])
})

it('rejects with the error of a listener, and does not treat it as a network failure', async () => {
  const listenerError = new Error('error in the listener')
  const { fetch, calledMs } = scripted(Date.now, [denied('1'), ok])
  const patient = withBackoff(fetch, {
    onWait() {
      throw listenerError
    },
  })
  await expect(patient(API_URL)).rejects.toBe(listenerError)
  expect(calledMs).toHaveLength(1)
})

it.each<[string, object, string]>([
  ['an unknown option', { maxAttempt: 3 }, 'maxAttempt'],
  ['no attempt', { maxAttempts: 0 }, 'maxAttempts'],
  ['half an attempt', { maxAttempts: 1.5 }, 'maxAttempts'],
  ['a negative wait', { firstBackoffMs: -1 }, 'firstBackoffMs'],
  ['a wait that is not a number', { maxRetryAfterMs: '60' }, 'maxRetryAfterMs'],
  ['a wait that is too long for a timer', { maxTotalWaitMs: 2 ** 31 }, 'maxTotalWaitMs'],
  ['methods in lower case', { methods: ['get'] }, 'methods'],
  ['a status of success', { statuses: [200] }, 'statuses'],
  ['a pace that is a number', { pace: 1 }, 'pace'],
  ['a listener that is not a function', { onWait: true }, 'onWait'],
])('rejects %s', (_title, options, field) => {
  expect(() => withBackoff(fetch, options)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', field }),
  )
})

it('rejects options in place of fetch, with advice', () => {
  expect(() => withBackoff({ maxAttempts: 3 } as never)).toThrow(/Write for example withBackoff\(fetch, /)
})
