import { describe, expect, it } from 'vitest'
import { type Received, serve } from '../../test/http-server.js'
import { type CacheOptions, withCache } from './cache.js'

const START = Date.parse('2030-01-01T10:00:00Z')
const DATE = new Date(START).toUTCString()

type Fields = Record<string, string | string[]>

/** A server that responds with these headers, and a cached fetch in front of it with a fixed clock. */
async function cachedServer(
  fields: Fields | ((received: Received, nth: number) => { fields: Fields; status?: number; body?: string }),
  options: CacheOptions = {},
) {
  const { url, received } = await serve((request, response, nth) => {
    const {
      fields: more,
      status = 200,
      body = `answer ${nth}`,
    } = typeof fields === 'function' ? fields(request, nth) : { fields }
    response.sendDate = false
    response
      .writeHead(status, { date: DATE, ...more })
      .end(status === 304 || status === 204 ? undefined : body)
  })
  let nowMs = START
  const cached = withCache(fetch, { now: () => nowMs, ...options })
  return {
    url,
    received,
    cached,
    /** The body of the response, read to its end. */
    async get(init: RequestInit = {}, path = '/') {
      const response = await cached(`${url}${path}`, init)
      return `${response.status} ${await response.text()}`
    },
    advance(ms: number) {
      nowMs += ms
    },
  }
}

const MINUTE = { 'cache-control': 'max-age=60' }

describe('a response is reused without a call', () => {
  it.each<[string, Fields, number]>([
    ['for its max-age', MINUTE, 60],
    ['for its max-age in quotes', { 'cache-control': 'max-age="60"' }, 60],
    [
      'with any other directives',
      { 'cache-control': 'public, Max-Age=60, immutable, s-maxage=1, x="a,b"' },
      60,
    ],
    ['if it is private', { 'cache-control': 'private, max-age=60' }, 60],
    ['until it expires', { expires: new Date(START + 60_000).toUTCString() }, 60],
    [
      'for its max-age, not until it expires',
      { ...MINUTE, expires: new Date(START + 90_000).toUTCString() },
      60,
    ],
    ['for its max-age without its Age', { ...MINUTE, age: '20' }, 40],
    [
      'for its max-age without the time since its Date',
      { ...MINUTE, date: new Date(START - 15_000).toUTCString() },
      45,
    ],
    ['for the first of two max-ages', { 'cache-control': 'max-age=60, max-age=90' }, 60],
  ])('%s', async (_title, fields, seconds) => {
    const { get, advance, received } = await cachedServer(fields)
    expect(await get()).toBe('200 answer 1')
    advance(seconds * 1000 - 1)
    expect(await get()).toBe('200 answer 1')
    expect(received).toHaveLength(1)
    advance(1)
    expect(await get()).toBe('200 answer 2')
  })

  it('with its headers, its age, its URL, and a separate body for each caller', async () => {
    const { url, cached, advance } = await cachedServer({
      ...MINUTE,
      'content-type': 'text/x',
      'x-a': 'b',
      age: '3',
    })
    await (await cached(`${url}/a?b#c`)).text()
    advance(10_900)
    const [one, other] = await Promise.all([cached(`${url}/a?b`), cached(new URL(`${url}/a?b#d`))])
    expect(one.headers.get('x-a')).toBe('b')
    expect(one.headers.get('content-type')).toBe('text/x')
    expect(one.headers.get('age')).toBe('13')
    expect([one.url, one.ok, one.statusText]).toStrictEqual([`${url}/a?b`, true, 'OK'])
    expect(await one.text()).toBe('answer 1')
    expect(await other.text()).toBe('answer 1')
  })

  it.each([203, 204, 404, 410])('if its status is %i', async (status) => {
    const { get, received } = await cachedServer(() => ({ fields: MINUTE, status }))
    expect(await get()).toBe(await get())
    expect(received).toHaveLength(1)
  })

  it('byte for byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 256))
    const { url, received } = await serve((_request, response) => response.writeHead(200, MINUTE).end(bytes))
    const cached = withCache(fetch)
    for (let i = 0; i < 3; i++)
      expect(Buffer.from(await (await cached(url)).arrayBuffer()).equals(bytes)).toBe(true)
    expect(received).toHaveLength(1)
  })
})

describe('a response is not reused', () => {
  it.each<[string, Fields]>([
    ['without Cache-Control and Expires', {}],
    ['with no-store', { 'cache-control': 'no-store, max-age=60' }],
    ['with no-cache', { 'cache-control': 'no-cache, max-age=60' }],
    ['if it is stale already', { 'cache-control': 'max-age=0' }],
    ['if its Age is its max-age', { ...MINUTE, age: '60' }],
    ['if only shared caches may keep it', { 'cache-control': 's-maxage=60' }],
    ['if its max-age is not a number', { 'cache-control': 'max-age=soon' }],
    ['if its max-age is negative', { 'cache-control': 'max-age=-60' }],
    ['if Expires is not a date', { expires: '0' }],
    ['if Expires is a date in another format', { expires: new Date(START + 60_000).toISOString() }],
    ['if Cache-Control is malformed', { 'cache-control': 'no-store; max-age=60' }],
    ['if Cache-Control lacks a comma', { 'cache-control': 'no-store max-age=60' }],
    ['if Cache-Control lacks a quote', { 'cache-control': 'max-age=60, x="no-store' }],
    ['if it varies on everything', { ...MINUTE, vary: 'accept, *' }],
    ['if it varies on an invalid header name', { ...MINUTE, vary: 'a b' }],
    ['if it sets a cookie', { ...MINUTE, 'set-cookie': 'sid=1' }],
  ])('%s', async (_title, fields) => {
    const { get, received } = await cachedServer(fields)
    await get()
    await get()
    expect(received).toHaveLength(2)
  })

  it.each([206, 301, 302, 308, 400, 429, 500, 503])('if its status is %i', async (status) => {
    const { get } = await cachedServer(() => ({ fields: MINUTE, status }))
    await get({ redirect: 'manual' })
    expect(await get({ redirect: 'manual' })).toBe(`${status} answer 2`)
  })

  it('if it comes from a redirect', async () => {
    const { get } = await cachedServer(({ path }) =>
      path === '/' ? { fields: { location: '/b' }, status: 302 } : { fields: MINUTE },
    )
    expect(await get()).toBe('200 answer 2')
    expect(await get()).toBe('200 answer 4')
    expect(await get({}, '/b')).toBe('200 answer 5')
    expect(await get({}, '/b')).toBe('200 answer 5')
  })

  it('if it was not read to the end, or was cut off', async () => {
    const { url, received } = await serve((_request, response, nth) => {
      response.writeHead(200, { ...MINUTE, ...(nth < 3 ? { 'content-length': '100' } : {}) })
      response.write('part')
      if (nth === 2) setTimeout(() => response.destroy(), 20)
      else if (nth === 3) response.end()
    })
    const cached = withCache(fetch)
    const cut = new AbortController()
    await cached(url, { signal: cut.signal })
    cut.abort()
    await expect((await cached(url)).text()).rejects.toThrow(TypeError)
    expect(await (await cached(url)).text()).toBe('part')
    expect(await (await cached(url)).text()).toBe('part')
    expect(received).toHaveLength(3)
  })

  it('if the clock has been set back behind it', async () => {
    const { get, advance } = await cachedServer(MINUTE)
    await get()
    advance(-1)
    expect(await get()).toBe('200 answer 2')
  })

  it('if it is for another method, URL, or value of a header that it varies on', async () => {
    const { get, received } = await cachedServer({ ...MINUTE, vary: 'Accept-Language, accept-language' })
    const german = { headers: { 'accept-language': 'de' } }
    const korean = { headers: { 'Accept-Language': 'ko' } }
    expect(await get(german)).toBe('200 answer 1')
    expect(await get(korean)).toBe('200 answer 2')
    expect(await get()).toBe('200 answer 3')
    expect(await get(german, '/?a')).toBe('200 answer 4')
    expect(await get({ ...german, method: 'HEAD' })).toBe('200 ')
    expect(received).toHaveLength(5)
    expect([await get(german), await get(korean), await get()]).toStrictEqual([
      '200 answer 1',
      '200 answer 2',
      '200 answer 3',
    ])
    expect(received).toHaveLength(5)
  })
})

describe('the response to a request with credentials', () => {
  const credentials = [{ authorization: 'Bearer alice' }, { cookie: 'sid=alice' }]
  it.each(credentials)('%o is cached only if the server allows sharing', async (headers) => {
    for (const [control, calls] of [
      ['max-age=60', 2],
      ['private, max-age=60', 2],
      ['private, must-revalidate, max-age=60', 2],
      ['public, max-age=60', 1],
      ['must-revalidate, max-age=60', 1],
      ['s-maxage=60, max-age=60', 1],
    ] as const) {
      const { get, received } = await cachedServer({ 'cache-control': control })
      await get({ headers })
      await get({ headers })
      expect([control, received.length]).toStrictEqual([control, calls])
    }
  })

  it('is used for other credentials only if it is public', async () => {
    for (const [control, answers] of [
      ['must-revalidate, max-age=60', ['200 answer 1', '200 answer 2', '200 answer 3', '200 answer 1']],
      ['public, max-age=60', ['200 answer 1', '200 answer 1', '200 answer 1', '200 answer 1']],
    ] as const) {
      const { get } = await cachedServer({ 'cache-control': control })
      const as = (name: string) => get({ headers: { authorization: `Bearer ${name}` } })
      expect([await as('alice'), await as('bob'), await get(), await as('alice')]).toStrictEqual(answers)
    }
  })

  it('in a custom header is separated by keyHeaders', async () => {
    const { get } = await cachedServer(MINUTE, { keyHeaders: ['X-Api-Key'] })
    const [alice, bob] = [{ headers: { 'x-api-key': 'alice' } }, { headers: { 'x-api-key': 'bob' } }]
    expect(await get(alice)).toBe('200 answer 1')
    expect(await get(bob)).toBe('200 answer 2')
    expect(await get(alice)).toBe('200 answer 1')
  })
})

describe('a request controls whether the server is called', () => {
  it.each<[string, RequestInit, boolean]>([
    ['no-cache', { headers: { 'cache-control': 'no-cache' } }, true],
    ['no-store', { headers: { 'cache-control': 'no-store' } }, true],
    ['a max-age below the age', { headers: { 'cache-control': 'max-age=9' } }, true],
    ['a max-age of the age', { headers: { 'cache-control': 'max-age=10' } }, false],
    ['a min-fresh above the remaining time', { headers: { 'cache-control': 'min-fresh=50' } }, true],
    ['a min-fresh below the remaining time', { headers: { 'cache-control': 'min-fresh=49' } }, false],
    ['a range', { headers: { range: 'bytes=0-1' } }, true],
    ['a condition of its own', { headers: { 'if-none-match': '"x"' } }, true],
    ['integrity', { integrity: 'sha256-8FEWhyIw8LGHFdhcviHmB/b8Sajn3o97fqzvGtfdQZo=' }, true],
    ['cache: no-store', { cache: 'no-store' }, true],
    ['cache: reload', { cache: 'reload' }, true],
    ['cache: no-cache', { cache: 'no-cache' }, true],
    ['no such header', {}, false],
  ])('%s', async (_title, init, isCalled) => {
    const { get, advance } = await cachedServer(MINUTE)
    await get()
    advance(10_000)
    expect(await get(init)).toBe(isCalled ? '200 answer 2' : '200 answer 1')
  })

  it('an aborted request rejects', async () => {
    const { get } = await cachedServer(MINUTE)
    await get()
    await expect(get({ signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone')
  })
})

describe('a write to a URL', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'by %s removes the cached response if it succeeds',
    async (method) => {
      let status = 0
      const { get } = await cachedServer((received) =>
        received.method === 'GET' ? { fields: MINUTE } : { fields: {}, status },
      )
      await get()
      for (status of [400, 500]) {
        await get({ method })
        expect(await get()).toBe('200 answer 1')
      }
      status = 200
      await get({ method })
      expect(await get()).toBe('200 answer 5')
    },
  )

  it('keeps a response out of the cache that was requested before', async () => {
    const { url, cached, get } = await cachedServer((received) => ({
      fields: received.method === 'GET' ? MINUTE : {},
    }))
    const slow = await cached(url)
    await get({ method: 'PUT' })
    expect(await slow.text()).toBe('answer 1')
    expect(await get()).toBe('200 answer 3')
  })
})

describe('with revalidate', () => {
  const etag = { 'cache-control': 'max-age=60', etag: '"v1"', 'x-a': '1' }

  it('a stale response is revalidated, and reused if it is still valid', async () => {
    const { get, advance, received, cached, url } = await cachedServer(
      ({ headers }, nth) =>
        headers['if-none-match'] === '"v1"'
          ? {
              status: 304,
              fields: { ...etag, date: new Date(START + 60_000).toUTCString(), 'x-a': String(nth) },
            }
          : { fields: etag },
      { revalidate: true },
    )
    expect(await get()).toBe('200 answer 1')
    advance(60_000)
    expect(await get()).toBe('200 answer 1')
    expect(received).toHaveLength(2)
    advance(59_000)
    const again = await cached(`${url}/`)
    expect([again.headers.get('x-a'), again.headers.get('age')]).toStrictEqual(['2', '59'])
    expect(await again.text()).toBe('answer 1')
    expect(received).toHaveLength(2)
  })

  it('a stale response is replaced if it is no longer valid', async () => {
    const { get, advance, received } = await cachedServer(etag, { revalidate: true })
    await get()
    advance(60_000)
    expect(await get()).toBe('200 answer 2')
    expect(received[1]!.headers['if-none-match']).toBe('"v1"')
  })

  it('a no-cache response is revalidated every time, also by its date', async () => {
    const modified = { 'cache-control': 'no-cache', 'last-modified': DATE }
    const { get, received } = await cachedServer(
      ({ headers }) =>
        headers['if-modified-since'] === DATE ? { status: 304, fields: {} } : { fields: modified },
      { revalidate: true },
    )
    for (let i = 0; i < 3; i++) expect(await get()).toBe('200 answer 1')
    expect(received).toHaveLength(3)
  })

  it('a response that is revalidated with no-store is returned once more', async () => {
    const { get, advance, received } = await cachedServer(
      ({ headers }) =>
        headers['if-none-match'] === undefined
          ? { fields: etag }
          : { status: 304, fields: { 'cache-control': 'no-store' } },
      { revalidate: true },
    )
    await get()
    advance(60_000)
    expect(await get()).toBe('200 answer 1')
    expect(await get()).toBe('200 answer 3')
    expect(received[2]!.headers['if-none-match']).toBeUndefined()
  })

  it('is off by default', async () => {
    const { get, advance, received } = await cachedServer(etag)
    await get()
    advance(60_000)
    expect(await get()).toBe('200 answer 2')
    expect(received[1]!.headers['if-none-match']).toBeUndefined()
  })
})

describe('memory is bounded:', () => {
  it('the least recently used response is evicted first', async () => {
    const { get } = await cachedServer(MINUTE, { maxEntries: 2 })
    for (const path of ['/a', '/b', '/a', '/c']) await get({}, path)
    expect(await get({}, '/a')).toBe('200 answer 1')
    expect(await get({}, '/b')).toBe('200 answer 4')
  })

  it.each([true, false])('a large response is not cached (known length: %s)', async (isKnown) => {
    const large = 'x'.repeat(20_000)
    const { url, received } = await serve((_request, response) => {
      response.writeHead(200, { ...MINUTE, ...(isKnown ? { 'content-length': String(large.length) } : {}) })
      response.write(large.slice(0, 5))
      response.end(large.slice(5))
    })
    const cached = withCache(fetch, { maxBytes: 100_000 })
    for (let i = 0; i < 2; i++) expect(await (await cached(url)).text()).toBe(large)
    expect(received).toHaveLength(2)
  })

  it('clear removes all responses', async () => {
    const { get, cached } = await cachedServer(MINUTE)
    await get()
    cached.clear()
    expect(await get()).toBe('200 answer 2')
  })
})

it.each<[string, object, string]>([
  ['an unknown option', { maxSize: 3 }, 'maxSize'],
  ['no entries', { maxEntries: 0 }, 'maxEntries'],
  ['a fraction of a byte', { maxBytes: 0.5 }, 'maxBytes'],
  ['a string for true', { revalidate: 'yes' }, 'revalidate'],
  ['an invalid header name', { keyHeaders: ['x api key'] }, 'keyHeaders'],
  ['a clock that is not a function', { now: 0 }, 'now'],
])('rejects %s', (_title, options, field) => {
  expect(() => withCache(fetch, options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', field }))
})

it('rejects options in place of fetch, with advice', () => {
  expect(() => withCache({ maxEntries: 3 } as never)).toThrow(/Write for example withCache\(fetch, /)
})
