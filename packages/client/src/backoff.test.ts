import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { serve } from '../test/http-server.js'
import { createVirtualTime } from '../test/virtual-time.js'
import { withBackoff } from './backoff.js'
import type { BackoffOptions, BackoffWait } from './backoff-options.js'
import type { Fetch } from './fetch.js'

const START = Date.parse('2030-01-01T10:00:00Z')
const URL_ASKED = 'http://api.test/orders'

type Scripted = { status: number; headers?: Record<string, string> } | Error

/** A fetch that gives these answers, one after the other and the last for ever, and when it was called. */
function scripted(now: () => number, answers: readonly Scripted[]) {
  const calledMs: number[] = []
  const fetch: Fetch = async () => {
    const answer = answers[Math.min(calledMs.push(now()) - 1, answers.length - 1)]!
    if (answer instanceof Error) throw answer
    return new Response(`answer ${calledMs.length}`, answer)
  }
  return { fetch, calledMs }
}

/** Calls through a back-off in time that passes by itself. */
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
  const result = await time.run(patient(URL_ASKED, init)).catch((error: Error) => error)
  const sentMs = calledMs.map((ms) => ms - START)
  return { result, waits, sentMs, status: result instanceof Response ? result.status : result.message }
}

const refused = (retryAfter: string) => ({ status: 429, headers: { 'retry-after': retryAfter } })
const ok = { status: 200 }
const broken = new TypeError('fetch failed')

describe('a wait', () => {
  it.each<[string, Scripted[], BackoffOptions, number[]]>([
    ['is none if the first answer is good', [ok], {}, [0]],
    ['is what the server asks for, and half a second of chance on top', [refused('7'), ok], {}, [0, 7500]],
    ['may be asked for as a date', [refused('Tue, 01 Jan 2030 10:00:09 GMT'), ok], {}, [0, 9500]],
    ['is asked for anew each time', [refused('1'), refused('2'), ok], {}, [0, 1500, 4500]],
    ['is as long as one may be asked for', [refused('60'), ok], {}, [0, 60_500]],
    ['is chance alone where the server asks for nothing', [{ status: 503 }, ok], {}, [0, 500]],
    ['is chance alone where what it asks for makes no sense', [refused('soon'), ok], {}, [0, 500]],
    ['is chance alone where there is no answer', [broken, ok], {}, [0, 500]],
    [
      'doubles its part of chance up to a bound',
      [broken, broken, broken, broken, ok],
      { maxBackoffMs: 3000 },
      [0, 500, 1500, 3000, 4500],
    ],
    [
      'is the reset of what is used up, where a refusal says nothing else',
      [{ status: 429, headers: { ratelimit: '"a";r=0;t=6, "b";r=5;t=90' } }, ok],
      {},
      [0, 6500],
    ],
    [
      'is chance alone after a failure, whatever is left of a quota',
      [{ status: 503, headers: { ratelimit: '"a";r=0;t=6' } }, ok],
      {},
      [0, 500],
    ],
  ])('%s', async (_title, answers, options, sentMs) => {
    const { status, ...result } = await call(answers, options)
    expect(status).toBe(200)
    expect(result.sentMs).toStrictEqual(sentMs)
  })

  it('is told before it begins', async () => {
    const { waits } = await call([refused('7'), broken, ok])
    const about = { method: 'GET', url: URL_ASKED }
    expect(waits).toStrictEqual([
      { ...about, reason: 'status', status: 429, waitMs: 7500, askedForMs: 7000, attempts: 1 },
      { ...about, reason: 'no-answer', error: broken, waitMs: 1000, attempts: 2 },
    ])
  })

  it('is never shorter than what was asked for, nor longer than that and its part of chance', () => {
    const cases = fc.record({
      seconds: fc.nat(60),
      chance: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      firstBackoffMs: fc.nat(5000),
      maxBackoffMs: fc.nat(20_000),
      refusals: fc.integer({ min: 1, max: 4 }),
    })
    return fc.assert(
      fc.asyncProperty(cases, async ({ seconds, chance, refusals, ...bounds }) => {
        const answers = [...Array(refusals).fill(refused(String(seconds))), ok]
        const { waits, status } = await call(answers, { ...bounds, random: () => chance })
        expect(status).toBe(200)
        expect(waits).toHaveLength(refusals)
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

describe('it gives up, and hands on what it has,', () => {
  it.each<[string, Scripted[], BackoffOptions, string | number, number]>([
    ['after five attempts', [refused('1')], {}, 429, 5],
    ['after as many as it may', [broken], { maxAttempts: 2 }, 'fetch failed', 2],
    ['where the server asks for too long a wait', [refused('61')], {}, 429, 1],
    ['where it asks for one that has no end', [refused('9'.repeat(400))], {}, 429, 1],
    ['before all waits could come to too much', [refused('10')], { maxTotalWaitMs: 30_000 }, 429, 3],
    ['not before they could', [refused('10')], { maxTotalWaitMs: 11_000 }, 429, 2],
    ['at once if an answer is final', [{ status: 500 }], {}, 500, 1],
    ['at once if it may not wait at all', [refused('1')], { maxTotalWaitMs: 0 }, 429, 1],
  ])('%s', async (_title, answers, options, status, attempts) => {
    const result = await call(answers, options)
    expect(result.status).toBe(status)
    expect(result.sentMs).toHaveLength(attempts)
  })

  it('with a body that can still be read', async () => {
    const { result } = await call([refused('61')])
    expect(await (result as Response).text()).toBe('answer 1')
  })
})

describe('only what is safe is sent again:', () => {
  const stream = () => new ReadableStream({ start: (controller) => controller.close() })
  it.each<[string, RequestInit & { duplex?: 'half' }, number]>([
    ['GET', {}, 2],
    ['HEAD', { method: 'HEAD' }, 2],
    ['OPTIONS', { method: 'OPTIONS' }, 2],
    ['PUT', { method: 'PUT', body: 'x' }, 2],
    ['delete, in any case', { method: 'delete' }, 2],
    ['POST not', { method: 'POST', body: 'x' }, 1],
    ['PATCH not', { method: 'PATCH', body: 'x' }, 1],
    ['POST with a key', { method: 'POST', body: 'x', headers: { 'Idempotency-Key': '8e03' } }, 2],
    ['PUT of a form', { method: 'PUT', body: new URLSearchParams('a=1') }, 2],
    ['PUT of bytes', { method: 'PUT', body: new Uint8Array(3) }, 2],
    ['PUT of a stream not', { method: 'PUT', body: stream(), duplex: 'half' }, 1],
  ])('%s', async (_title, init, times) => {
    for (const answer of [refused('1'), broken]) {
      expect((await call([answer, ok], {}, init)).sentMs).toHaveLength(times)
    }
  })

  it('what the options say', async () => {
    const post = { method: 'POST', body: 'x' }
    expect((await call([refused('1'), ok], { methods: ['POST'] }, post)).sentMs).toHaveLength(2)
    expect((await call([refused('1'), ok], { methods: ['POST'] })).sentMs).toHaveLength(1)
    expect((await call([{ status: 500 }, ok], { statuses: [500] })).sentMs).toHaveLength(2)
    expect((await call([refused('1'), ok], { statuses: [500] })).sentMs).toHaveLength(1)
  })

  it('a Request too, unless it has a body, which is a stream', async () => {
    const time = createVirtualTime(START)
    for (const [request, times] of [
      [new Request(URL_ASKED, { headers: { 'x-a': '1' } }), 2],
      [new Request(URL_ASKED, { method: 'PUT', body: 'x' }), 1],
      [new Request(URL_ASKED, { method: 'POST', headers: { 'idempotency-key': '1' } }), 2],
    ] as const) {
      const { fetch, calledMs } = scripted(time.now, [refused('1'), ok])
      await time.run(withBackoff(fetch, { now: time.now, wait: time.wait })(request))
      expect(calledMs).toHaveLength(times)
    }
  })

  it('nothing that could never be sent', async () => {
    let calls = 0
    const patient = withBackoff(async () => {
      calls++
      return new Response()
    })
    await expect(patient('no address')).rejects.toThrow(TypeError)
    await expect(patient(URL_ASKED, { method: 'A B' })).rejects.toThrow(TypeError)
    await expect(patient(URL_ASKED, { headers: { 'a b': '1' } })).rejects.toThrow(TypeError)
    expect(calls).toBe(0)
  })

  it.each(['ftp://api.test/', 'htpp://api.test/'])('not %s, which is no HTTP', async (url) => {
    const waits: BackoffWait[] = []
    const patient = withBackoff(fetch, { wait: async () => {}, onWait: (one) => waits.push(one) })
    await expect(patient(url)).rejects.toThrow('fetch failed')
    expect(waits).toStrictEqual([])
  })
})

describe('a signal', () => {
  it('ends a wait, with its reason', async () => {
    const time = createVirtualTime(START)
    const { fetch, calledMs } = scripted(time.now, [refused('30')])
    const controller = new AbortController()
    const onWait = () => setImmediate(() => controller.abort(new Error('gone')))
    const wait = (_ms: number, signal: AbortSignal | undefined) =>
      new Promise<void>((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
    const patient = withBackoff(fetch, { now: time.now, wait, onWait })
    await expect(patient(URL_ASKED, { signal: controller.signal })).rejects.toThrow('gone')
    expect(calledMs).toHaveLength(1)
  })

  it('ends a real wait of a real request, also the one of a Request', async () => {
    const { url, received } = await serve((_request, response) => {
      response.writeHead(503, { 'retry-after': '30' }).end('busy')
    })
    for (const asInit of [true, false]) {
      const signal = AbortSignal.timeout(150)
      const start = performance.now()
      const asked = asInit ? withBackoff()(url, { signal }) : withBackoff()(new Request(url, { signal }))
      await expect(asked).rejects.toMatchObject({ name: 'TimeoutError' })
      expect(performance.now() - start).toBeLessThan(5000)
    }
    expect(received).toHaveLength(2)
  })

  it('that has ended a request is not answered with another one', async () => {
    const controller = new AbortController()
    let calls = 0
    const patient = withBackoff(async () => {
      calls++
      controller.abort(new Error('gone'))
      throw controller.signal.reason
    })
    await expect(patient(URL_ASKED, { signal: controller.signal })).rejects.toThrow('gone')
    expect(calls).toBe(1)
  })
})

it('waits for a real server, and is never early', async () => {
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

it('hands on what a listener throws, and does not take it for a network that failed', async () => {
  const mistake = new Error('a mistake in the listener')
  const { fetch, calledMs } = scripted(Date.now, [refused('1'), ok])
  const patient = withBackoff(fetch, {
    onWait() {
      throw mistake
    },
  })
  await expect(patient(URL_ASKED)).rejects.toBe(mistake)
  expect(calledMs).toHaveLength(1)
})

it.each<[string, object, string]>([
  ['an option that is none', { maxAttempt: 3 }, 'maxAttempt'],
  ['no attempt', { maxAttempts: 0 }, 'maxAttempts'],
  ['half an attempt', { maxAttempts: 1.5 }, 'maxAttempts'],
  ['a wait below nothing', { firstBackoffMs: -1 }, 'firstBackoffMs'],
  ['a wait that is no number', { maxRetryAfterMs: '60' }, 'maxRetryAfterMs'],
  ['a wait that no timer can do', { maxTotalWaitMs: 2 ** 31 }, 'maxTotalWaitMs'],
  ['methods in lower case', { methods: ['get'] }, 'methods'],
  ['a status that is good', { statuses: [200] }, 'statuses'],
  ['a pace that is a number', { pace: 1 }, 'pace'],
  ['a listener that is none', { onWait: true }, 'onWait'],
])('refuses %s', (_title, options, field) => {
  expect(() => withBackoff(fetch, options)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', field }),
  )
})

it('refuses options where the fetch was forgotten, and says what to write', () => {
  expect(() => withBackoff({ maxAttempts: 3 } as never)).toThrow(/Write for example withBackoff\(fetch, /)
})
