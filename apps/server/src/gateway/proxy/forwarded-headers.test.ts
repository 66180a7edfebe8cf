import { afterEach, describe, expect, it } from 'vitest'
import { gatewayTo, rawUpstream, type TestGateway, type TestUpstream } from '../../../test/gateway.js'
import { sendRaw, statusOf } from '../../../test/raw-http.js'
import type { ResponseFilter, Route } from '../route.js'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

describe('the headers of a request', () => {
  let upstream: TestUpstream & { readonly received: string[] }
  let gateway: TestGateway
  afterEach(async () => {
    await gateway.close()
    await upstream.close()
  })

  /** The headers that the upstream receives: all values, by name in lower case. */
  async function seen(
    headers: readonly string[],
    { route = {}, ...options }: Parameters<typeof gatewayTo>[1] & { route?: Partial<Route> } = {},
  ): Promise<Map<string, string[]>> {
    upstream = await rawUpstream(OK)
    gateway = await gatewayTo({ upstreams: [upstream.url], ...route }, options)
    const answer = await sendRaw(gateway.url, `GET / HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    return fieldsOf(upstream.received[0]!)
  }

  it('have no hop-by-hop headers', async () => {
    const fields = await seen([
      'Host: a',
      'Connection: close, X-Secret',
      'X-Secret: 1',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic eDp5',
      'Proxy-Authenticate: Basic',
      'Proxy-Authentication-Info: a=1',
      'TE: gzip',
      'Trailer: X-T',
      'X-Kept: 2',
    ])
    for (const name of [
      'x-secret',
      'keep-alive',
      'proxy-connection',
      'proxy-authorization',
      'proxy-authenticate',
      'proxy-authentication-info',
      'te',
      'trailer',
    ]) {
      expect(fields.get(name), name).toBeUndefined()
    }
    expect(fields.get('connection')).toStrictEqual(['keep-alive'])
    expect(fields.get('x-kept')).toStrictEqual(['2'])
  })

  it('keep only trailers of TE', async () => {
    expect((await seen(['Host: a', 'TE: gzip;q=0.5, trailers'])).get('te')).toStrictEqual(['trailers'])
  })

  it.each([
    'X-Forwarded-For',
    'x-forwarded-for, via, x-request-id',
    'X-FORWARDED-FOR,X-Forwarded-Proto,Host',
  ])('have those of the gateway although Connection names %s', async (named) => {
    const fields = await seen(['Host: a.test', `Connection: ${named}`, 'X-Forwarded-For: 1.2.3.4'])
    expect(fields.get('x-forwarded-for')).toStrictEqual(['127.0.0.1'])
    expect(fields.get('x-forwarded-proto')).toStrictEqual(['http'])
    expect(fields.get('x-forwarded-host')).toStrictEqual(['a.test'])
    expect(fields.get('via')).toStrictEqual(['1.1 tidegate'])
    expect(fields.get('x-request-id')?.[0]).toMatch(/^[\w-]+-\d+$/)
  })

  it('have no forwarding headers of an untrusted client, in any spelling', async () => {
    const fields = await seen([
      'Host: a',
      'X-Forwarded-For: 1.2.3.4',
      'X-Forwarded-For: 5.6.7.8',
      'x_forwarded_for: 1.2.3.4',
      'X-Real-IP: 1.2.3.4',
      'X_Real_IP: 1.2.3.4',
      'Forwarded: for=1.2.3.4',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: evil',
      'X-Forwarded-Port: 1',
      'X-Forwarded-Prefix: /evil',
    ])
    const { port } = new URL(gateway.url)
    expect(fields.get('x-forwarded-for')).toStrictEqual(['127.0.0.1'])
    expect(fields.get('x-forwarded-proto')).toStrictEqual(['http'])
    expect(fields.get('x-forwarded-host')).toStrictEqual(['a'])
    expect(fields.get('x-forwarded-port')).toStrictEqual([port])
    for (const name of ['x_forwarded_for', 'x-real-ip', 'x_real_ip', 'forwarded', 'x-forwarded-prefix']) {
      expect(fields.get(name), name).toBeUndefined()
    }
  })

  it('have the forwarding headers of a trusted proxy, with its address appended', async () => {
    const fields = await seen(
      [
        'Host: a',
        'X-Forwarded-For: 1.2.3.4',
        'X-Forwarded-Proto: https',
        'X-Forwarded-Host: shop.test',
        'X-Forwarded-Port: 443',
        'X-Forwarded-Prefix: /shop',
        'Forwarded: for=9.9.9.9',
      ],
      { proxies: { trusted: ['127.0.0.0/8'] } },
    )
    expect(fields.get('x-forwarded-for')).toStrictEqual(['1.2.3.4, 127.0.0.1'])
    expect(fields.get('x-forwarded-proto')).toStrictEqual(['https'])
    expect(fields.get('x-forwarded-host')).toStrictEqual(['shop.test'])
    expect(fields.get('x-forwarded-port')).toStrictEqual(['443'])
    expect(fields.get('x-forwarded-prefix')).toStrictEqual(['/shop'])
    // The client as the trusted proxy sees it.
    expect(fields.get('forwarded')).toBeUndefined()
  })

  it('use X-Real-IP of a trusted proxy that sends no other header', async () => {
    const fields = await seen(['Host: a', 'X-Real-IP: 1.2.3.4'], { proxies: { trusted: ['127.0.0.1'] } })
    expect(fields.get('x-forwarded-for')).toStrictEqual(['1.2.3.4, 127.0.0.1'])
  })

  it('have only Forwarded if that is configured', async () => {
    const fields = await seen(['Host: a:1', 'X-Forwarded-For: 1.2.3.4', 'Forwarded: for=1.2.3.4'], {
      proxies: { header: 'forwarded' },
    })
    expect(fields.get('forwarded')).toStrictEqual(['for=127.0.0.1;host="a:1";proto=http'])
    expect(fields.get('x-forwarded-for')).toBeUndefined()
  })

  it('are appended to Via and Forwarded of the request', async () => {
    const fields = await seen(['Host: a', 'Via: 1.0 first', 'Forwarded: for=1.2.3.4'], {
      proxies: { header: 'forwarded', trusted: ['127.0.0.1'] },
    })
    expect(fields.get('via')).toStrictEqual(['1.0 first, 1.1 tidegate'])
    expect(fields.get('forwarded')).toStrictEqual(['for=1.2.3.4, for=127.0.0.1;host="a";proto=http'])
  })

  it.each([
    [true, 'public.test'],
    [false, 'upstream'],
  ])('have, with preserveHost %s, the Host %s', async (preserveHost, expected) => {
    const fields = await seen(['Host: public.test'], { route: { preserveHost } })
    const upstreamHost = new URL(upstream.url).host
    expect(fields.get('host')).toStrictEqual([expected === 'upstream' ? upstreamHost : expected])
  })

  it('have a safe request id of the client, or else a new one', async () => {
    expect((await seen(['Host: a', 'X-Request-Id: abc-1'])).get('x-request-id')).toStrictEqual(['abc-1'])
    await gateway.close()
    await upstream.close()
    const [generated] = (await seen(['Host: a', 'X-Request-Id: a b<script>'])).get('x-request-id')!
    expect(generated).toMatch(/^[\w-]+-1$/)
  })

  it('have the first value of a header that may occur once, as do keys', async () => {
    const keys: (string | undefined)[] = []
    const fields = await seen(['Host: a', 'Authorization: one', 'Authorization: two', 'X-L: 1', 'X-L: 2'], {
      route: {
        limiter: (request) => {
          keys.push(request.header('authorization'), request.header('x-l'))
          return { denial: undefined, headers: {}, holdMs: 0 }
        },
      },
    })
    expect(fields.get('authorization')).toStrictEqual(['one'])
    expect(fields.get('x-l')).toStrictEqual(['1, 2'])
    expect(keys).toStrictEqual(['one', '1, 2'])
  })

  it('are not used for keys if they are not forwarded', async () => {
    const keys: (string | undefined)[] = []
    const fields = await seen(['Host: a', 'Connection: X-User', 'X-User: 1'], {
      route: {
        limiter: (request) => {
          keys.push(request.header('x-user'))
          return { denial: undefined, headers: {}, holdMs: 0 }
        },
      },
    })
    expect(fields.get('x-user')).toBeUndefined()
    expect(keys).toStrictEqual([undefined])
  })

  it('are changed by filters, except for the framing', async () => {
    const fields = await seen(['Host: a', 'X-Old: 1'], {
      route: {
        requestFilters: [
          ({ headers }) => {
            headers.delete('x-old')
            headers.set('x-new', ['1', '2'])
            headers.set('transfer-encoding', 'chunked')
            headers.set('content-length', '5')
          },
          (forward) => {
            forward.path = '/other'
            forward.query = 'q=1'
          },
        ],
      },
    })
    expect(upstream.received[0]).toMatch(/^GET \/other\?q=1 HTTP\/1\.1\r\n/)
    expect(fields.get('x-old')).toBeUndefined()
    expect(fields.get('x-new')).toStrictEqual(['1', '2'])
    expect(fields.get('transfer-encoding')).toBeUndefined()
    expect(fields.get('content-length')).toBeUndefined()
  })
})

describe('the headers of a response', () => {
  let upstream: TestUpstream
  let gateway: TestGateway
  afterEach(async () => {
    await gateway.close()
    await upstream.close()
  })

  async function answerTo(answer: string, route: Partial<Route> = {}, method = 'GET'): Promise<string> {
    upstream = await rawUpstream(answer)
    gateway = await gatewayTo({ upstreams: [upstream.url], ...route })
    return sendRaw(gateway.url, `${method} / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`, false)
  }

  it('have no hop-by-hop headers', async () => {
    const answer = await answerTo(
      'HTTP/1.1 200 OK\r\nconnection: x-secret\r\nconnection: keep-alive\r\nx-secret: 1\r\nkeep-alive: timeout=9\r\nproxy-authenticate: Basic\r\nupgrade: h2c\r\ncontent-length: 2\r\nx-kept: 1\r\n\r\nok',
    )
    const fields = fieldsOf(answer)
    for (const name of ['x-secret', 'keep-alive', 'proxy-authenticate', 'upgrade']) {
      expect(fields.get(name), name).toBeUndefined()
    }
    expect(fields.get('connection')).toStrictEqual(['close'])
    expect(fields.get('x-kept')).toStrictEqual(['1'])
    expect(answer).toMatch(/\r\n\r\nok$/)
  })

  it('keep Content-Length although Connection names it', async () => {
    const answer = await answerTo(
      'HTTP/1.1 200 OK\r\nconnection: content-length\r\ncontent-length: 2\r\n\r\nok',
    )
    expect(fieldsOf(answer).get('content-length')).toStrictEqual(['2'])
    expect(answer).toMatch(/\r\n\r\nok$/)
  })

  it('keep several cookies as several lines', async () => {
    const answer = await answerTo(
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=1, b\r\nset-cookie: c=2\r\ncontent-length: 0\r\n\r\n',
    )
    expect(fieldsOf(answer).get('set-cookie')).toStrictEqual(['a=1, b', 'c=2'])
  })

  it('keep several cookies through filters', async () => {
    const answer = await answerTo(
      'HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nset-cookie: c=2\r\nx-a: 1\r\ncontent-length: 2\r\n\r\nok',
      {
        responseFilters: [
          (head) => {
            head.status = 203
            head.headers.delete('x-a')
            head.headers.set('x-b', 'new')
          },
        ],
      },
    )
    expect(answer).toMatch(/^HTTP\/1\.1 203 /)
    expect(answer).toMatch(/\r\n\r\nok$/)
    expect(fieldsOf(answer).get('set-cookie')).toStrictEqual(['a=1', 'c=2'])
    expect(fieldsOf(answer).get('x-a')).toBeUndefined()
    expect(fieldsOf(answer).get('x-b')).toStrictEqual(['new'])
  })

  it('have no Content-Length if a filter sets the status 204', async () => {
    const toNoContent = (head: { status: number }) => {
      head.status = 204
    }
    const raw = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
    const answer = await answerTo(raw, { responseFilters: [toNoContent] })
    expect(answer).toMatch(/^HTTP\/1\.1 204 (?![\s\S]*content-length)[\s\S]*\r\n\r\n$/i)
  })

  it('have the rate limit headers of the gateway instead of those of the upstream', async () => {
    const raw =
      'HTTP/1.1 200 OK\r\nX-RateLimit-Limit: 7\r\nx-ratelimit-remaining: 6\r\nRateLimit: "a";r=6\r\nRateLimit-Policy: "a";q=7\r\nRetry-After: 5\r\nconstructor: 1\r\ncontent-length: 2\r\n\r\nok'
    // While the store is unavailable, other numbers are unknown.
    const headers = { 'x-ratelimit-limit': '100', 'x-ratelimit-degraded': 'open' }
    const limited = fieldsOf(
      await answerTo(raw, { limiter: () => ({ denial: undefined, headers, holdMs: 0 }) }),
    )
    expect(limited.get('x-ratelimit-limit')).toStrictEqual(['100'])
    for (const name of ['x-ratelimit-remaining', 'ratelimit', 'ratelimit-policy']) {
      expect(limited.get(name), name).toBeUndefined()
    }
    expect(limited.get('retry-after')).toStrictEqual(['5'])
    expect(limited.get('constructor')).toStrictEqual(['1'])
  })

  it('keep the rate limit headers of the upstream if the route has no limits', async () => {
    const answer = await answerTo('HTTP/1.1 200 OK\r\nX-RateLimit-Limit: 7\r\ncontent-length: 2\r\n\r\nok')
    expect(fieldsOf(answer).get('x-ratelimit-limit')).toStrictEqual(['7'])
  })

  it.each([
    [
      'HEAD',
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n',
      /^HTTP\/1\.1 200 [\s\S]*content-length: 5\r\n[\s\S]*\r\n\r\n$/i,
    ],
    [
      'GET',
      'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n',
      /^HTTP\/1\.1 204 (?![\s\S]*content-length)[\s\S]*\r\n\r\n$/i,
    ],
    [
      'GET',
      'HTTP/1.1 304 Not Modified\r\netag: "1"\r\n\r\n',
      /^HTTP\/1\.1 304 [\s\S]*etag: "1"\r\n[\s\S]*\r\n\r\n$/,
    ],
    [
      'GET',
      'HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n',
      /^HTTP\/1\.1 304 [\s\S]*content-length: 5\r\n[\s\S]*\r\n\r\n$/,
    ],
  ])('are sent without a body if there is none: %s, %j', async (method, raw, expected) => {
    expect(await answerTo(raw, {}, method)).toMatch(expected)
  })

  it.each([
    ['HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', 200],
    ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 204],
  ])('have no length if a filter adds or removes the body: %j as %i', async (raw, status) => {
    const set: ResponseFilter = (head) => {
      head.status = status
    }
    const answer = await answerTo(raw, { responseFilters: [set] })
    expect(statusOf(answer)).toBe(status)
    expect(answer).not.toMatch(/content-length: 5|hello/)
  })

  it('have the trailers of the upstream, except for framing and cookies', async () => {
    const answer = await answerTo(
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum, set-cookie\r\n\r\n2\r\nok\r\n0\r\nx-sum: 42\r\nx-sum: 43\r\nset-cookie: a=1\r\n\r\n',
    )
    expect(answer).toMatch(/\r\ntrailer: x-sum\r\n/)
    expect(answer).toMatch(/\r\n2\r\nok\r\n0\r\nx-sum: 42\r\nx-sum: 43\r\n\r\n$/)
  })

  it('announce no trailers if the response cannot have any', async () => {
    const answer = await answerTo('HTTP/1.1 304 Not Modified\r\nx-kind: trailer\r\ntrailer: x-sum\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 304 Not Modified\r\n/)
    expect(answer).toMatch(/\r\nx-kind: trailer\r\n/)
    expect(answer).not.toMatch(/\r\ntrailer:/i)
  })

  it('have nothing of a response that cannot be forwarded', async () => {
    const spoil: ResponseFilter = ({ headers }) => void headers.set('x-bad', 'a\nb')
    const answer = await answerTo('HTTP/1.1 200 OK\r\netag: "a"\r\ncontent-length: 2\r\n\r\nok', {
      responseFilters: [spoil],
    })
    expect(answer).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/)
    expect(answer).not.toMatch(/etag/i)
  })

  it('follow the early hints of the upstream', async () => {
    const answer = await answerTo(
      'HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\nset-cookie: early=1\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    )
    expect(answer).toMatch(
      /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n/i,
    )
    expect(answer).not.toContain('early=1')
  })
})

function fieldsOf(text: string): Map<string, string[]> {
  const fields = new Map<string, string[]>()
  for (const line of text.split('\r\n\r\n')[0]!.split('\r\n').slice(1)) {
    const name = line.slice(0, line.indexOf(':')).toLowerCase()
    fields.set(name, [...(fields.get(name) ?? []), line.slice(line.indexOf(':') + 1).trim()])
  }
  return fields
}
