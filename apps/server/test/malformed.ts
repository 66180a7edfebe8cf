import { randomFrom } from '@tidegate/core/testing'
import { BATCH, CHECK, REMAINING, RESET } from './start-service.js'

// Malformed requests of many kinds. They depend only on the seed, and must have no effect.

export interface Malformed {
  /** The kind of error. */
  readonly kind: string
  readonly bytes: Buffer
  /** Whether it is invalid as HTTP: then the connection may be closed without a response. */
  readonly isInvalidHttp: boolean
}

const READS = [CHECK, REMAINING]
const BODIES = [CHECK, BATCH]
const PATHS: Record<string, readonly string[]> = {
  [CHECK]: ['GET', 'POST'],
  [BATCH]: ['POST'],
  [REMAINING]: ['GET'],
  [RESET]: ['DELETE'],
  '/api/v1/admin/policies': ['GET'],
  '/api/v1/admin/live': ['GET'],
  '/api/v1/admin/keys': ['GET'],
  '/api/v1/admin/race': ['POST'],
  '/actuator/prometheus': ['GET', 'HEAD'],
  '/actuator/health': ['GET', 'HEAD'],
  '/actuator/info': ['GET', 'HEAD'],
  '/metrics': ['GET', 'HEAD'],
  '/healthz': ['GET', 'HEAD'],
  '/readyz': ['GET', 'HEAD'],
  '/openapi.json': ['GET', 'HEAD'],
  '/docs': ['GET', 'HEAD'],
  '/': ['GET', 'HEAD'],
}
const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'SEARCH',
  'LOCK',
  'M-SEARCH',
]
const BAD_PERMITS = [
  '0',
  '-1',
  '1.5',
  '1e3',
  '',
  '+1',
  ' 1',
  '0x10',
  'NaN',
  'Infinity',
  'true',
  '1,000',
  '１',
  '101',
  '9'.repeat(30),
  '1\u00a0',
  '%31%00',
]
const BAD_KEYS = [
  '',
  '%00',
  '%0d%0aset-cookie:a',
  '%7f',
  '%C2%80',
  '%ff',
  '%',
  '%4',
  '%zz',
  '%ed%a0%80',
  '%f5%80%80%80',
  'x'.repeat(300),
  '%F0%9F%98%80'.repeat(65),
]
const BAD_TYPES: unknown[] = [null, true, [], {}, [[]], { a: 1 }, 1.5, -1, 0, '1', '', [1], 1e21, '__proto__']
const BAD_CONTENT_TYPES = [
  'text/plain',
  'application/xml',
  'multipart/form-data; boundary=a',
  'application/x-www-form-urlencoded',
  'json',
  ';',
  'application/json; charset=latin1',
  '*/*',
  'application/',
  'text/html',
  '\u00e9',
]

/** An endless sequence. */
export function* malformedRequests(seed: number): Generator<Malformed> {
  const random = randomFrom(seed).fraction
  const below = (bound: number) => Math.floor(random() * bound)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
  const text = (length: number, from = '!', to = '~') => {
    const [low, high] = [from.charCodeAt(0), to.charCodeAt(0)]
    return String.fromCharCode(...Array.from({ length }, () => low + below(high - low + 1)))
  }
  const word = () => text(1 + below(12), 'a', 'z')
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => below(256)))
  const key = () => `fuzz-${word()}`
  const request = (
    method: string,
    target: string,
    headers: Record<string, string> = {},
    body: string | Buffer = '',
  ) => {
    const all: Record<string, string> = { host: 'localhost', ...headers }
    if (body.length > 0) all['content-length'] ??= String(Buffer.byteLength(body))
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    return Buffer.concat([
      Buffer.from(`${method} ${target} HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1'),
      Buffer.from(body),
    ])
  }
  const json = (path: string, body: unknown, type = 'application/json') =>
    request('POST', path, { 'content-type': type }, typeof body === 'string' ? body : JSON.stringify(body))
  const inside = (path: string, check: object): object =>
    path === BATCH ? { checks: [{ key: key() }, check] } : check

  const invalidRequests: Record<string, () => Buffer> = {
    method() {
      const path = pick(Object.keys(PATHS))
      const method = pick(METHODS.filter((one) => !PATHS[path]!.includes(one)))
      return request(method, `${path}?key=${key()}`)
    },
    path: () => request(pick(METHODS), `/${word()}/${text(below(40), 'a', 'z')}%2e%2f${word()}?${word()}`),
    'odd path': () =>
      request('GET', `/${pick(['%zz', '%ff', '..', '//', '\\', ';', '%00', '*', "'", '|'])}${word()}x`),
    'unknown field': () => request('GET', `${pick(READS)}?key=${key()}&${word()}x=${word()}`),
    'repeated field': () =>
      request('GET', `${pick(READS)}?key=${key()}&permits=1&${pick(['key=a', 'permits=1', 'permits=2'])}`),
    permits: () => request('GET', `${pick(READS)}?key=${key()}&permits=${encodeURI(pick(BAD_PERMITS))}`),
    key: () => request('GET', `${pick(READS)}?key=${pick(BAD_KEYS)}`),
    'raw bytes in the query': () =>
      request('GET', `${pick(READS)}?key=${key()}${text(3, '\u0080', '\u00ff')}`),
    algorithm: () => request('GET', `${pick(READS)}?key=${key()}&algorithm=${word()}`),
    policy: () => request('GET', `${pick(READS)}?key=${key()}&policy=${encodeURIComponent(text(8))}!`),
    'algorithm and policy': () => request('GET', `${pick(READS)}?algorithm=TOKEN_BUCKET&policy=token_bucket`),
    'body where none is read': () => request('GET', `${pick(READS)}?key=${key()}`, {}, text(1 + below(50))),
    'broken JSON': () => {
      const path = pick(BODIES)
      const whole = JSON.stringify(inside(path, { key: key(), permits: 1 }))
      return json(path, whole.slice(0, below(whole.length)) || '{')
    },
    'bytes as JSON': () => {
      const body = Buffer.concat([Buffer.from('{"key":"'), bytes(1 + below(60)), Buffer.from([0xff])])
      return request('POST', pick(BODIES), { 'content-type': 'application/json' }, body)
    },
    'wrong type': () => {
      const path = pick(BODIES)
      const wrong = pick(BAD_TYPES)
      // Text is a valid key and a valid policy name, so it is only wrong for the other fields.
      const field =
        typeof wrong === 'string'
          ? pick(['permits', 'algorithm'])
          : pick(['key', 'permits', 'algorithm', 'policy'])
      return json(path, inside(path, { key: key(), [field]: wrong }))
    },
    'wrong batch': () =>
      json(
        BATCH,
        pick<unknown>([
          [],
          {},
          { checks: {} },
          { checks: [] },
          { checks: [1] },
          { checks: [null] },
          { checks: [{ key: key() }], atomic: 'yes' },
          { checks: [{ key: key() }], more: 1 },
        ]),
      ),
    'unknown field of a body': () => {
      const path = pick(BODIES)
      return json(path, inside(path, { key: key(), [pick([`${word()}x`, 'constructor', 'toString'])]: 1 }))
    },
    'repeated field of a body': () =>
      json(CHECK, `{"key":"${key()}","permits":1,"${pick(['key', 'permits', '\\u006bey'])}":1}`),
    __proto__: () => json(pick(BODIES), `{"key":"${key()}","__proto__":{"a":1}}`),
    deep: () => {
      const depth = 10 + below(5000)
      return json(
        pick(BODIES),
        pick([
          `{"key":${'['.repeat(depth)}${']'.repeat(depth)}}`,
          `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
          '['.repeat(depth),
        ]),
      )
    },
    request: () =>
      json(CHECK, {
        request: pick<unknown>([
          1,
          'GET /',
          [],
          {},
          { method: 'GET' },
          { method: 1, path: '/' },
          { method: 'GET', path: `/${word()}/%2f` },
          { method: 'GET', path: '/', ip: word() },
          { method: 'GET', path: '/', headers: { a: 1 } },
        ]),
      }),
    'content type': () => json(pick(BODIES), { key: key() }, pick(BAD_CONTENT_TYPES)),
    encoding: () =>
      request(
        'POST',
        CHECK,
        { 'content-type': 'application/json', 'content-encoding': pick(['gzip', 'br', word()]) },
        '{"key":"a"}',
      ),
    'too long': () =>
      request(
        'POST',
        CHECK,
        { 'content-type': 'application/json' },
        `{"key":"${'x'.repeat(66_000 + below(30_000))}"}`,
      ),
    token: () => {
      const headers = pick<Record<string, string>>([
        {},
        { authorization: `Bearer ${text(10)}`, 'x-forwarded-for': `10.${below(256)}.${below(256)}.1` },
        { authorization: text(20) },
        { authorization: '' },
        { authorization: 'Bearer' },
      ])
      return pick([
        request('DELETE', `${RESET}?key=probe&token=fuzz-token`, headers),
        request('GET', '/api/v1/admin/policies', headers),
      ])
    },
  }
  const invalidHttp: Record<string, () => Buffer> = {
    bytes: () => bytes(1 + below(200)),
    'no version': () => Buffer.from(`GET ${CHECK}?key=${key()}\r\n\r\n`),
    version: () =>
      Buffer.from(
        `GET ${CHECK}?key=${key()} ${pick(['HTTP/0.9', 'HTTP/2.0', 'HTTP/1.', 'HTTP/', 'http/1.1', 'FTP/1.1', 'HTTP/9.9'])}\r\nhost: localhost\r\n\r\n`,
      ),
    'lower-case method': () =>
      Buffer.from(
        `${pick(['get', 'Get', 'post', word()])} ${CHECK}?key=${key()} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
      ),
    'control character': () => {
      const odd = String.fromCharCode(pick([0, 1, 2, 7, 8, 11, 12, 14, 27, 31, 127]))
      return Buffer.from(
        `GET ${CHECK}?key=${key()} HTTP/1.1\r\nhost: localhost\r\nx-${word()}: ${word()}${odd}${word()}\r\n\r\n`,
        'latin1',
      )
    },
    'control character in the target': () =>
      Buffer.from(
        `GET ${CHECK}?key=${key()}${String.fromCharCode(below(32))}x HTTP/1.1\r\nhost: localhost\r\n\r\n`,
      ),
    'header name': () =>
      Buffer.from(
        `GET ${CHECK}?key=${key()} HTTP/1.1\r\nhost: localhost\r\n${pick(['', ' ', 'a b', 'a\t', '(', 'é', '\0'])}: x\r\n\r\n`,
      ),
    'no colon': () =>
      Buffer.from(`GET ${CHECK}?key=${key()} HTTP/1.1\r\nhost: localhost\r\n${word()}\r\n\r\n`),
    hosts: () =>
      Buffer.from(
        `GET ${CHECK}?key=${key()} HTTP/1.1\r\n${pick(['', 'host: localhost\r\nHost: a\r\n'])}\r\n`,
      ),
    length: () =>
      Buffer.from(
        `POST ${CHECK} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${pick(['-1', 'x', '1e3', '99999999999999999999', '10, 10', '0x2', '1000'])}\r\n\r\n{}`,
      ),
    'length and chunks': () =>
      Buffer.from(
        `POST ${CHECK} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\ntransfer-encoding: ${pick(['chunked', 'x', 'chunked, chunked'])}\r\n\r\n0\r\n\r\n`,
      ),
    chunks: () =>
      Buffer.from(
        `POST ${CHECK} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${pick(['zz', '-1', 'ffffffffffffffffff', '5;x=\0', ''])}\r\n{}\r\n0\r\n\r\n`,
      ),
    'long header': () =>
      Buffer.from(
        `GET ${CHECK}?key=${key()} HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(17_000 + below(2000))}\r\n\r\n`,
      ),
    'long target': () =>
      Buffer.from(`GET ${CHECK}?key=${'y'.repeat(17_000 + below(2000))} HTTP/1.1\r\nhost: localhost\r\n\r\n`),
    'cut off': () => {
      const whole = request('GET', `${CHECK}?key=${key()}`)
      return whole.subarray(0, 1 + below(whole.length - 2))
    },
  }
  for (;;) {
    const isInvalidHttp = random() < 0.3
    const kinds = isInvalidHttp ? invalidHttp : invalidRequests
    const kind = pick(Object.keys(kinds))
    yield { kind, bytes: kinds[kind]!(), isInvalidHttp }
  }
}
