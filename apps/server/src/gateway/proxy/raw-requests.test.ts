import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gatewayTo, rawUpstream, type TestGateway, type TestUpstream } from '../../../test/gateway.js'
import { sendRaw, statusOf } from '../../../test/raw-http.js'

/*
 * Malformed and ambiguous requests, byte by byte. Either the gateway rejects them, or the upstream receives one unambiguous
 * request.
 */

let upstream: TestUpstream & { readonly received: string[] }
let gateway: TestGateway

beforeAll(async () => {
  upstream = await rawUpstream('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  gateway = await gatewayTo({ upstreams: [upstream.url] })
})

afterAll(async () => {
  await gateway.close()
  await upstream.close()
})

/** All responses, and the requests that the upstream has received. */
async function send(raw: string): Promise<{ answer: string; seen: string[] }> {
  upstream.received.length = 0
  const answer = await sendRaw(gateway.url, raw, false)
  return { answer, seen: [...upstream.received] }
}

describe('rejects, without a request to the upstream:', () => {
  const close = 'Connection: close\r\n'
  it.each([
    [
      'a length and chunks',
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'chunks and a length',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    ['one length twice', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
    ['a list of lengths', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello`],
    ['a length with a sign', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello`],
    ['a negative length', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello`],
    ['a length in hexadecimal', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello`],
    [
      'a length beyond all numbers',
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nhello`,
    ],
    ['an encoding that is not chunked', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n`],
    [
      'chunked that is not last',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    ],
    ['chunked twice', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
    [
      'chunked in two lines',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
    ],
    [
      'a coding similar to chunked',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    ],
    ['chunked in quotes', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
    ['compressed chunks', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    [
      'a vertical tab in an encoding',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'chunks in HTTP/1.0',
      `POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n`,
    ],
    [
      'a chunk with an invalid length',
      `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n`,
    ],
    ['a space before a colon', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello`],
    ['a header on two lines', `GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n continued\r\n\r\n`],
    ['a first header on two lines', `GET / HTTP/1.1\r\n Host: a\r\n\r\n`],
    ['lines that end with LF', `GET / HTTP/1.1\nHost: a\n\n`],
    ['one line that ends with LF', `GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\nX-B: 2\r\n\r\n`],
    ['a CR alone', `GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\rX-B: 2\r\n\r\n`],
    ['NUL in a value', `GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\x002\r\n\r\n`],
    ['NUL in a name', `GET / HTTP/1.1\r\nHost: a\r\nX\x00A: 1\r\n\r\n`],
    ['NUL in a path', `GET /a\x00b HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['a header without a name', `GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n`],
    ['a header without a colon', `GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n`],
    ['HTTP/0.9', `GET /\r\n\r\n`],
    ['HTTP/0.9 with headers', `GET / HTTP/0.9\r\nHost: a\r\n\r\n`],
    ['HTTP/2.0 without TLS', `GET / HTTP/2.0\r\nHost: a\r\n\r\n`],
    ['the preface of HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`],
    ['HTTP/1.2', `GET / HTTP/1.2\r\nHost: a\r\n\r\n`],
    ['a version in lower case', `GET / http/1.1\r\nHost: a\r\n\r\n`],
    ['no Host', `GET / HTTP/1.1\r\n${close}\r\n`],
    ['two Hosts', `GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n${close}\r\n`],
    ['a path as Host', `GET / HTTP/1.1\r\nHost: a/b\r\n${close}\r\n`],
    ['an escape in Host', `GET / HTTP/1.1\r\nHost: %2e%2e.a\r\n${close}\r\n`],
    ['a space in Host', `GET / HTTP/1.1\r\nHost: a b\r\n${close}\r\n`],
    ['a user in Host', `GET / HTTP/1.1\r\nHost: a@b\r\n${close}\r\n`],
    ['an invalid method', `G{T / HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['a target without a path', `OPTIONS * HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
    ['a fragment', `GET /a#b HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
    ['an escaped slash', `GET /a%2Fb HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
    ['a backslash', `GET /a\\b HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
    ['an escaped NUL', `GET /a%00 HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
    ['a broken escape', `GET /a%zz HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
    ['a path above the root', `GET /../a HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
    ['a space in the path', `GET /a b HTTP/1.1\r\nHost: a\r\n\r\n`],
  ])('%s', async (_what, raw) => {
    const { answer, seen } = await send(raw)
    expect(statusOf(answer)).toBe(400)
    expect(answer).toMatch(/"error":"bad_request"/)
    expect(answer.split('HTTP/1.1 ').length).toBe(2)
    expect(seen).toStrictEqual([])
  })

  it('headers that are too large, with 431', async () => {
    const { answer, seen } = await send(`GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`)
    expect(statusOf(answer)).toBe(431)
    expect(seen).toStrictEqual([])
  })

  it.each([
    'TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n',
  ])('%j, with 405', async (raw) => {
    const { answer, seen } = await send(raw)
    expect(statusOf(answer)).toBe(405)
    expect(seen).toStrictEqual([])
  })

  it('an expectation other than 100-continue, with 417', async () => {
    const { answer, seen } = await send(
      'GET / HTTP/1.1\r\nHost: a\r\nExpect: cookies\r\nConnection: close\r\n\r\n',
    )
    expect(statusOf(answer)).toBe(417)
    expect(answer).toMatch(/\r\nx-request-id: /)
    expect(answer).toContain('"expectation_failed"')
    expect(seen).toStrictEqual([])
  })
})

describe('forwards unambiguously:', () => {
  it.each([
    ['GET http://evil.test/a HTTP/1.1', 'GET /a HTTP/1.1'],
    ['GET http://evil.test HTTP/1.1', 'GET / HTTP/1.1'],
    ['GET http://evil.test?q HTTP/1.1', 'GET /?q HTTP/1.1'],
    ['GET //evil.test/a HTTP/1.1', 'GET /evil.test/a HTTP/1.1'],
    ['GET ///evil.test HTTP/1.1', 'GET /evil.test HTTP/1.1'],
    ['GET /%61/./b/../c/ HTTP/1.1', 'GET /a/c HTTP/1.1'],
    ['GET /%c3%a9 HTTP/1.1', 'GET /%C3%A9 HTTP/1.1'],
    ['GET /a?b=%2F//..&c HTTP/1.1', 'GET /a?b=%2F//..&c HTTP/1.1'],
    ['GET /@evil.test HTTP/1.1', 'GET /@evil.test HTTP/1.1'],
    ['GET / HTTP/1.0', 'GET / HTTP/1.1'],
  ])('%s is sent as %s to the configured upstream', async (line, expected) => {
    const { answer, seen } = await send(`${line}\r\nHost: evil.test\r\nConnection: close\r\n\r\n`)
    expect(statusOf(answer)).toBe(200)
    expect(seen).toHaveLength(1)
    expect(seen[0]!.split('\r\n')[0]).toBe(expected)
    expect(seen[0]).toContain(`\r\nhost: ${new URL(upstream.url).host}\r\n`)
  })

  it('chunked bodies, without extensions and trailers', async () => {
    const { answer, seen } = await send(
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX-Evil: 1\r\n\r\n',
    )
    expect(statusOf(answer)).toBe(200)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/\r\ncontent-length: 5\r\n\r\nabcde$/)
    expect(seen[0]).not.toMatch(/x-evil|transfer-encoding/i)
  })

  it('a body that looks like a request', async () => {
    const inner = 'GET /admin HTTP/1.1\r\nHost: a\r\n\r\n'
    const { seen } = await send(
      `POST /outer HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    )
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^POST \/outer HTTP/)
    expect(seen[0]!.endsWith(inner)).toBe(true)
  })

  it('a body of GET and of DELETE', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { answer, seen } = await send(
        `${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello`,
      )
      expect(statusOf(answer)).toBe(200)
      expect(seen[0]).toMatch(/\r\ncontent-length: 5\r\n\r\nhello$/)
    }
  })

  it('pipelined requests, one by one and in order', async () => {
    const one = (path: string) => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`
    const { answer, seen } = await send(
      `${one('1')}${one('2')}GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    expect(answer.split('HTTP/1.1 200 OK').length - 1).toBe(3)
    expect(seen.map((text) => text.split(' ')[1])).toStrictEqual(['/1', '/2', '/3'])
  })

  it('pipelined requests only up to a limit, and then closes the connection', async () => {
    const silent = await rawUpstream('')
    const waiting = await gatewayTo({ upstreams: [silent.url] })
    try {
      const answer = await sendRaw(waiting.url, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5000), false)
      expect(answer).toBe('')
      await until('nothing is left', () => [...waiting.upstreams()].every(({ inFlight }) => inFlight === 0))
      expect(silent.received.length).toBeLessThan(2)
    } finally {
      await waiting.close()
      await silent.close()
    }
  })

  it('up to 100 pipelined requests; one more closes the connection', async () => {
    let release = () => {}
    const slow = await rawUpstream((socket) => {
      const answer = () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
      if (slow.received.length > 1) answer()
      else release = answer
    })
    const waiting = await gatewayTo({ upstreams: [slow.url] })
    const { hostname, port } = new URL(waiting.url)
    const one = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    try {
      const patient = connect(Number(port), hostname)
      let answers = ''
      patient.on('data', (data) => {
        answers += data
      })
      patient.write(one.repeat(101))
      await until('the first is on its way', () => slow.received.length === 1)
      release()
      await until('all are answered', () => answers.split('HTTP/1.1 200 OK').length - 1 === 101)
      patient.destroy()
      slow.received.length = 0
      const hasty = connect(Number(port), hostname).on('error', () => {})
      let isOver = false
      hasty.on('close', () => {
        isOver = true
      })
      hasty.write(one.repeat(102))
      await until('its connection ends', () => isOver)
    } finally {
      await waiting.close()
      await slow.close()
    }
  })

  it('responses to HTTP/1.0 clients without chunks, and closes the connection', async () => {
    const chunked = await rawUpstream(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    )
    const other = await gatewayTo({ upstreams: [chunked.url] })
    const answer = await sendRaw(other.url, 'GET / HTTP/1.0\r\n\r\n', false)
    await other.close()
    await chunked.close()
    expect(answer).not.toMatch(/transfer-encoding/i)
    expect(answer).toMatch(/\r\n\r\nok$/)
  })
})

describe('stays available after', () => {
  const connectLine = 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'

  it('a CONNECT whose client resets the connection', async () => {
    const { hostname, port } = new URL(gateway.url)
    for (let i = 0; i < 5; i++) {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      socket.write(connectLine + 'x'.repeat(100_000))
      socket.resetAndDestroy()
    }
    expect(statusOf((await send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).answer)).toBe(200)
  })

  it('a CONNECT with HTTP/2.0, with 405', async () => {
    const { answer, seen } = await send(connectLine.replace('1.1', '2.0'))
    expect(statusOf(answer)).toBe(405)
    expect(seen).toStrictEqual([])
  })

  it.each([
    ['a CONNECT', connectLine, 405],
    ['an upgrade', 'GET /2 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', 403],
  ])('%s while an earlier request is in flight, and responds in order', async (_, raw, status) => {
    const { answer, seen } = await send(`GET /1 HTTP/1.1\r\nHost: a\r\n\r\n${raw}`)
    expect(answer.match(/(?<=HTTP\/1\.1 )\d+/g)).toStrictEqual(['200', String(status)])
    expect(seen.length).toBe(1)
  })
})

describe('Expect: 100-continue', () => {
  it('gets 100 Continue from the gateway itself', async () => {
    const { answer, seen } = await send(
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
    expect(seen[0]).not.toMatch(/\r\nexpect:/i)
    expect(seen[0]).toMatch(/hello$/)
  })

  it.each(['100-continue', 'cookies'])('gets no 100 in HTTP/1.0: %s', async (what) => {
    const { answer, seen } = await send(
      `POST / HTTP/1.0\r\nHost: a\r\nExpect: ${what}\r\nContent-Length: 5\r\n\r\nhello`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(seen[0]).toMatch(/hello$/)
  })

  it('gets no 100 if the request is denied, and its connection is not reused', async () => {
    const limited = await gatewayTo({
      upstreams: [upstream.url],
      limiter: () => ({
        denial: { status: 429, contentType: 'application/json', body: '{}' },
        headers: { 'retry-after': '9' },
        holdMs: 0,
      }),
    })
    upstream.received.length = 0
    const answer = await sendRaw(
      limited.url,
      'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 33\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n',
      false,
    )
    await limited.close()
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
    expect(answer).toMatch(/\r\nretry-after: 9\r\n/)
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
    expect(answer.split('HTTP/1.1 ').length).toBe(2)
    expect(upstream.received).toStrictEqual([])
  })
})
