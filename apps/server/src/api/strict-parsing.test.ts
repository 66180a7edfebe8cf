import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendRaw, statusOf } from '../../test/raw-http.js'
import { BATCH, CHECK, REMAINING, RESET, startService, type TestService } from '../../test/start-service.js'

let service: TestService
beforeAll(async () => {
  service = await startService(`
policies: { token_bucket: { capacity: 100, refillRate: 1/1d } }
limits: { headersTimeout: 500ms, requestTimeout: 1s, maxHeaderBytes: 8192 }
`)
})
afterAll(() => service?.close())

const send = (bytes: string | Buffer) => sendRaw(service.url, bytes)
const get = (target: string, more = '') => send(`GET ${target} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`)
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
const usedBy = async (key: string) => 100 - (await service.get(`${REMAINING}?key=${key}`)).body.remaining

describe('invalid HTTP is rejected before it is counted', () => {
  it.each([
    ['a request line without a version', `GET ${CHECK}?key=odd\r\n\r\n`, 400],
    ['HTTP/0.9 by name', `GET ${CHECK}?key=odd HTTP/0.9\r\nhost: localhost\r\n\r\n`, 400],
    ['HTTP/2.0', `GET ${CHECK}?key=odd HTTP/2.0\r\nhost: localhost\r\n\r\n`, 400],
    ['text that is not HTTP', 'hello\r\n\r\n', 400],
    ['TLS', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]), 400],
    ['HTTP/1.1 without a Host', `GET ${CHECK}?key=odd HTTP/1.1\r\n\r\n`, 400],
    ['two Hosts', `GET ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\nHOST: b\r\n\r\n`, 400],
    ['a header without a name', `GET ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\n: x\r\n\r\n`, 400],
    ['a space before the colon', `GET ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\nx : y\r\n\r\n`, 400],
    [
      'a control character in a header',
      `GET ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\nx: a\x01b\r\n\r\n`,
      400,
    ],
    ['a NUL in a header', `GET ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n`, 400],
    ['a folded header', `GET ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n`, 400],
    [
      'two lengths',
      `POST ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}`,
      400,
    ],
    [
      'a length and chunks',
      `POST ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`,
      400,
    ],
    [
      'an unknown transfer encoding',
      `POST ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: x\r\n\r\n{}`,
      400,
    ],
    ['a fragment', `GET ${CHECK}#?key=odd HTTP/1.1\r\nhost: localhost\r\n\r\n`, 400],
    ['a fragment behind the query', `GET ${CHECK}?key=odd#x HTTP/1.1\r\nhost: localhost\r\n\r\n`, 400],
    [
      'a raw byte above 127 in a key',
      Buffer.from(`GET ${CHECK}?key=odd\xe9 HTTP/1.1\r\nhost: localhost\r\n\r\n`, 'latin1'),
      400,
    ],
    ['an unknown method', `BREW ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\n\r\n`, 400],
  ])('%s', async (_title, bytes, status) => {
    const answer = await send(bytes)
    expect(statusOf(answer)).toBe(status)
    expect(bodyOf(answer)).toMatchObject({ error: 'bad_request', message: expect.any(String) })
    expect(await usedBy('odd')).toBe(0)
  })

  it('has a request id in the response, if the headers could be parsed', async () => {
    const id = 'x-request-id: mine\r\n'
    const answer = await send(`GET ${CHECK}?key=odd#x HTTP/1.1\r\nhost: localhost\r\n${id}\r\n`)
    expect(answer).toContain(id)
  })

  it('an unknown field is rejected with the list of fields', async () => {
    const messageOf = async (path: string) => (await service.asAdmin(`${path}?odd=1`)).body.message
    expect(await messageOf(REMAINING)).toContain('this route accepts key, algorithm, policy, permits.')
    expect(await messageOf('/api/v1/admin/policies')).toBe(
      'Unknown field "odd"; this route accepts no query.',
    )
  })

  it('an unknown expectation gets 417', async () => {
    const answer = await get(`${CHECK}?key=odd`, 'expect: the-unexpected\r\n')
    expect(statusOf(answer)).toBe(417)
    expect(bodyOf(answer).error).toBe('expectation_failed')
    expect(answer).toMatch(/^x-request-id: \S+\r$/m)
    expect(answer).toContain('cache-control: no-store\r\n')
    expect(await usedBy('odd')).toBe(0)
  })

  it('headers that are too large get 431', async () => {
    const answer = await get(`${CHECK}?key=odd`, `x: ${'a'.repeat(9000)}\r\n`)
    expect(statusOf(answer)).toBe(431)
    expect(bodyOf(answer).error).toBe('request_header_fields_too_large')
    expect(await usedBy('odd')).toBe(0)
  })

  it('incomplete headers get 408', async () => {
    const answer = await send(`GET ${CHECK}?key=odd HTTP/1.1\r\nhost: localhost\r\n`)
    expect(statusOf(answer)).toBe(408)
    expect(bodyOf(answer).error).toBe('request_timeout')
  })

  it('an incomplete body times out', async () => {
    const head = `POST ${CHECK} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n`
    const start = performance.now()
    const answer = await send(`${head}{"key":`)
    expect(statusOf(answer)).toBe(408)
    expect(performance.now() - start).toBeLessThan(4000)
  })

  it('a large number of headers is read completely', async () => {
    const many = Array.from({ length: 1500 }, (_, i) => `${i.toString(36)}:\r\n`).join('')
    const answer = await send(
      `GET ${CHECK} HTTP/1.1\r\nhost: localhost\r\n${many}sec-fetch-site: cross-site\r\n\r\n`,
    )
    expect(statusOf(answer)).toBe(403)
  })

  it('a target with a host is handled by its path', async () => {
    const answer = await get(`http://localhost:1/${CHECK.slice(1)}?key=absolute`)
    expect(statusOf(answer)).toBe(200)
    expect(bodyOf(answer).key).toBe('absolute')
  })

  it('pipelined requests get their responses in order', async () => {
    const one = (key: string, more = '') =>
      `GET ${CHECK}?key=${key} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`
    const three = one('first') + one('second') + one('third', 'connection: close\r\n')
    const answer = await sendRaw(service.url, three, false)
    expect([...answer.matchAll(/"key":"(\w+)"/g)].map(([, key]) => key)).toStrictEqual([
      'first',
      'second',
      'third',
    ])
  })

  it.each([
    ['text that is not HTTP', 'hello\r\n\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n'],
    ['headers that are too large', `GET / HTTP/1.1\r\nx: ${'a'.repeat(9000)}\r\n\r\n`],
  ])('%s after a request does not prevent its response, and closes the connection', async (_title, bytes) => {
    const used = await usedBy('behind')
    const request = `GET ${CHECK}?key=behind HTTP/1.1\r\nhost: localhost\r\n\r\n`
    const answer = await sendRaw(service.url, request + bytes, false)
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toStrictEqual(['HTTP/1.1 200'])
    expect(answer.toLowerCase()).toContain('connection: close')
    expect(await usedBy('behind')).toBe(used + 1)
  })
})

describe('paths and methods', () => {
  it.each([
    ['GET', '/missing'],
    ['POST', '/missing'],
    ['GET', `${CHECK}/`],
    ['GET', `/${CHECK}`],
    ['GET', '/API/V1/RATE-LIMIT/CHECK'],
    ['PUT', '/api'],
    ['GET', '/.git/config'],
    ['GET', '/docs/../docs'.replace('..', '%2e%2e')],
  ])('%s %s gets 404 in JSON', async (method, path) => {
    const answer = await send(`${method} ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    expect(statusOf(answer)).toBe(404)
    expect(bodyOf(answer)).toMatchObject({ error: 'not_found' })
  })

  it('an unknown path gets 404 as a page if it is opened in a browser', async () => {
    const browser = 'accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n'
    const answer = await get('/<live>', browser)
    expect(statusOf(answer)).toBe(404)
    expect(answer).toContain('content-type: text/html')
    expect(answer).toContain("content-security-policy: default-src 'none'")
    expect(answer).toContain('<a href="/docs">')
    expect(answer).not.toContain('<live>')
    expect(bodyOf(await get('/live', 'accept: application/json, text/html\r\n'))).toMatchObject({
      error: 'not_found',
    })
    const known = await send(`DELETE ${CHECK} HTTP/1.1\r\nhost: localhost\r\n${browser}\r\n`)
    expect(bodyOf(known)).toMatchObject({ error: 'method_not_allowed' })
  })

  it('an unread body does not change the response', async () => {
    const { status } = await service.post('/missing', 'no JSON')
    expect(status).toBe(404)
    expect((await service.get('/missing', { method: 'POST', body: 'text' })).status).toBe(404)
  })

  it('an invalid escape in the path gets 400', async () => {
    expect(statusOf(await get('/%zz'))).toBe(400)
    expect(statusOf(await get('/%ff'))).toBe(400)
  })

  it.each([
    ['HEAD', CHECK, 'GET, POST'],
    ['PUT', CHECK, 'GET, POST'],
    ['DELETE', CHECK, 'GET, POST'],
    ['OPTIONS', CHECK, 'GET, POST'],
    ['PATCH', `${CHECK}?key=a`, 'GET, POST'],
    ['GET', BATCH, 'POST'],
    ['HEAD', REMAINING, 'GET'],
    ['POST', REMAINING, 'GET'],
    ['GET', RESET, 'DELETE'],
    ['POST', RESET, 'DELETE'],
    ['POST', '/metrics', 'GET, HEAD'],
    ['PROPFIND', '/', 'GET, HEAD'],
  ])('%s %s gets 405 with the methods of the route', async (method, path, allow) => {
    const answer = await send(`${method} ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    expect(statusOf(answer)).toBe(405)
    expect(answer).toContain(`allow: ${allow}\r\n`)
  })

  it.each(['/', '/docs', '/openapi.json', '/metrics', '/healthz', '/readyz', '/actuator/health'])(
    'HEAD %s has the headers of GET, without the body',
    async (path) => {
      const [head, whole] = [await service.get(path, { method: 'HEAD' }), await service.get(path)]
      expect(head.status).toBe(whole.status)
      expect(head.headers.get('content-type')).toBe(whole.headers.get('content-type'))
      expect(head.body).toBe('')
    },
  )
})

describe('bodies', () => {
  const json = { 'content-type': 'application/json' }
  it.each<[string, string | Uint8Array<ArrayBuffer>, Record<string, string>, number]>([
    ['JSON that is cut off', '{"key":', json, 400],
    ['an empty body', '', json, 400],
    ['a list', '[]', json, 400],
    ['null', 'null', json, 400],
    ['a text', '"key"', json, 400],
    ['JSON with a byte order mark', '\ufeff{"key":"body"}', json, 400],
    ['JSON with a comment', '{"key":"body"/**/}', json, 400],
    ['two values', '{"key":"body"}{}', json, 400],
    ['invalid UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d), json, 400],
    ['__proto__', '{"key":"body","__proto__":{"permits":1}}', json, 400],
    ['deep lists', `{"key":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, json, 400],
    ['deep objects', `${'{"request":'.repeat(5000)}1${'}'.repeat(5000)}`, json, 400],
    [
      'deep headers',
      `{"request":{"method":"GET","path":"/","headers":{"a":[[[[[[[[[[1]]]]]]]]]]}}}`,
      json,
      400,
    ],
    ['a number that is too large', '{"key":"body","permits":1e999}', json, 400],
    ['plain text', '{"key":"body"}', { 'content-type': 'text/plain' }, 415],
    ['a form', 'key=body', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['XML', '<key/>', { 'content-type': 'application/xml' }, 415],
    ['an invalid content type', '{"key":"body"}', { 'content-type': 'json' }, 415],
    ['UTF-16', '{"key":"body"}', { 'content-type': 'application/json; charset=utf-16' }, 415],
    ['compressed JSON', '{"key":"body"}', { ...json, 'content-encoding': 'gzip' }, 415],
  ])('%s', async (_title, body, headers, status) => {
    for (const path of [CHECK, BATCH]) {
      const answer = await service.get(path, { method: 'POST', headers, body })
      expect(answer.status).toBe(status)
      expect(answer.body.message.length).toBeGreaterThan(10)
    }
    expect(await usedBy('body')).toBe(0)
  })

  it('that are empty may have the content type of JSON where no body is accepted', async () => {
    for (const [method, path] of [
      ['GET', `${REMAINING}?key=body`],
      ['DELETE', `${RESET}?key=body`],
    ] as const) {
      expect((await service.asAdmin(path, { method, headers: json })).status).toBe(200)
    }
    const { status, body } = await service.asAdmin(`${RESET}?key=body`, {
      method: 'DELETE',
      headers: json,
      body: '{}',
    })
    expect([status, body.message]).toStrictEqual([
      400,
      'DELETE must not have a body; send the fields in the query.',
    ])
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON;CHARSET="UTF-8"'])(
    '%s is JSON',
    async (type) => {
      const answer = await service.get(CHECK, {
        method: 'POST',
        headers: { 'content-type': type },
        body: '{"key":"a"}',
      })
      expect(answer.status).toBe(200)
    },
  )

  it('without a content type get 415', async () => {
    const answer = await send(`POST ${CHECK} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}`)
    expect(statusOf(answer)).toBe(415)
  })

  it.each([
    ['check', CHECK, 64 * 1024],
    ['batch', BATCH, 512 * 1024],
  ])('of a %s are limited in size', async (_title, path, most) => {
    const text = (bytes: number) => {
      const frame = path === CHECK ? ['{"key":"long"', '}'] : ['{"checks":[{"key":"long"}]', '}']
      return frame.join(' '.repeat(bytes - frame.join('').length))
    }
    expect((await service.post(path, text(most))).status).toBe(200)
    const used = await usedBy('long')
    const sized = await service.post(path, text(most + 1))
    expect(sized.status).toBe(413)
    expect(sized.body.error).toBe('payload_too_large')
    expect((await service.post(path, text(3_000_000))).status).toBe(413)
    const chunk = text(most + 1)
    const chunked = await send(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`,
    )
    expect(statusOf(chunked)).toBe(413)
    expect(await usedBy('long')).toBe(used)
  })

  it('that are too large keep the connection open, if the rest is small', async () => {
    const post = (length: number) =>
      `POST ${CHECK} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
    const kept = await send(post(70_000) + ' '.repeat(70_000))
    expect([statusOf(kept), /^connection: close/im.test(kept)]).toStrictEqual([413, false])
    const ended = await send(post(5_000_000))
    expect([statusOf(ended), /^connection: close/im.test(ended)]).toStrictEqual([413, true])
  })

  it('are 8 levels deep at most', async () => {
    const nested = async (levels: number) => {
      const inside = levels - 1
      const answer = await service.post(CHECK, `{"key":${'['.repeat(inside)}1${']'.repeat(inside)}}`)
      return answer.body.message.includes('nested')
    }
    expect([await nested(8), await nested(9)]).toStrictEqual([false, true])
  })

  it('are rejected where no body is accepted', async () => {
    const body = '{"key":"body"}'
    const more = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
    for (const [method, path] of [
      ['GET', CHECK],
      ['GET', REMAINING],
      ['DELETE', `${RESET}?key=body`],
    ]) {
      const answer = await send(
        `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${service.admin.authorization}\r\n${more}\r\n${body}`,
      )
      expect(statusOf(answer)).toBe(400)
    }
  })
})

describe('every response', () => {
  it('has the request id of the request if it is safe, or else a new one', async () => {
    const idFor = async (id: string) =>
      (await service.get('/healthz', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
    expect(await idFor('7f3a-Trace.1:2')).toBe('7f3a-Trace.1:2')
    for (const odd of ['a b', '"x"', '<script>', 'a'.repeat(129)])
      expect(await idFor(odd)).toMatch(/^[\w-]+-\w+$/)
    const [first, second] = [await service.get('/missing'), await service.get(`${CHECK}?nonsense`)]
    expect(first.headers.get('x-request-id')).not.toBe(second.headers.get('x-request-id'))
  })

  it('with an error is a problem document (RFC 9457) for clients that prefer one', async () => {
    const headers = { accept: 'application/problem+json' }
    const bad = await service.get(`${CHECK}?permits=0`, { headers })
    expect(bad.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    expect(bad.body).toMatchObject({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: bad.body.message,
      instance: CHECK,
      field: 'permits',
      error: 'bad_request',
    })
    const other = await service.get(`${CHECK}?permits=0`, { headers: { accept: 'application/json, */*' } })
    expect(other.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const missing = await service.get('/missing?token=x', { headers })
    expect(missing.body).toMatchObject({ status: 404, instance: '/missing' })
  })

  it('with a denial is a problem document too, with the fields of the check', async () => {
    await service.get(`${CHECK}?key=problem&permits=100`)
    const headers = { accept: 'application/problem+json, application/json;q=0.5' }
    const { status, body, headers: sent } = await service.get(`${CHECK}?key=problem`, { headers })
    expect(status).toBe(429)
    expect(sent.get('content-type')).toBe('application/problem+json; charset=utf-8')
    expect(body).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      'violated-policies': ['token_bucket'],
      retry_after: body.retryAfterSeconds,
      allowed: false,
      key: 'problem',
      remaining: 0,
    })
  })
})
