import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expositionAt, valueIn } from '../scrape.js'
import { startService, type TestService } from '../start-service.js'
import { type LimitsFolder, limitsFolder } from './limits-folder.js'
import { framed, grpcStatus, openSession, openStream } from './rls-call.js'
import { type RlsClient, rlsClient } from './rls-client.js'

const LIMITS = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 5, name: per-user } }
  - { key: zero, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: dry, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: burst, rate_limit: { unit: day, requests_per_unit: 100 } }
`

const ask = (...descriptors: [string, string][]) => ({
  domain: 'shop',
  descriptors: descriptors.map((entry) => ({ entries: [entry] })),
})

describe('a client in Python', () => {
  let folder: LimitsFolder
  let service: TestService
  let client: RlsClient
  const address = () => service.service.rls!.address
  beforeAll(async () => {
    folder = limitsFolder({ 'shop.yaml': LIMITS })
    service = await startService(`
rls: { listen: 0, config: [${folder.path}], responseHeaders: true, dynamicMetadata: true }
`)
    client = rlsClient(address())
  })
  afterAll(async () => {
    await client?.close()
    await service?.close()
    folder?.remove()
  })

  it('gets code, limit, remaining, reset, headers and metadata', async () => {
    const answer = await client.send({ ...ask(['user', 'bob'], ['other', 'x']), hits: 2 })
    const { reset } = answer.statuses[0]
    expect(reset).toBeGreaterThan(0)
    expect(reset).toBeLessThanOrEqual(86_400)
    expect(answer).toStrictEqual({
      code: 'OK',
      statuses: [
        { code: 'OK', limit: { requests: 5, unit: 'DAY', name: 'per-user' }, remaining: 3, reset },
        { code: 'OK', remaining: 0 },
      ],
      headers: { 'RateLimit-Limit': '5', 'RateLimit-Remaining': '3', 'RateLimit-Reset': String(reset) },
      metadata: {
        domain: 'shop',
        descriptors: [{ entries: ['user=bob'] }, { entries: ['other=x'] }],
        hitsAddend: 2,
      },
    })
  })

  it('gets the responses of a used-up window, a limit of 0 and shadow mode', async () => {
    const codes = async (line: object) => {
      const { code, statuses } = await client.send(line)
      return [
        code,
        ...statuses.map(
          (status: { code: string; remaining: number }) => `${status.code} ${status.remaining}`,
        ),
      ]
    }
    const user = (hits: number) => ({ domain: 'shop', descriptors: [{ entries: [['user', 'eve']], hits }] })
    expect(await codes(user(5))).toStrictEqual(['OK', 'OK 0'])
    expect(await codes(user(0))).toStrictEqual(['OK', 'OK 0'])
    expect(await codes(user(1))).toStrictEqual(['OVER_LIMIT', 'OVER_LIMIT 0'])
    expect(await codes(user(0))).toStrictEqual(['OVER_LIMIT', 'OVER_LIMIT 0'])
    expect(await codes(user(2 ** 60))).toStrictEqual(['OVER_LIMIT', 'OVER_LIMIT 0'])
    expect(await codes(ask(['zero', 'x']))).toStrictEqual(['OVER_LIMIT', 'OVER_LIMIT 0'])
    expect(await codes({ ...ask(['dry', 'x']), hits: 2 })).toStrictEqual(['OK', 'OK 0'])
    const override = { entries: [['user', 'eve']], limit: [3, 'HOUR'], hits: 3 }
    expect(await codes({ domain: 'shop', descriptors: [override] })).toStrictEqual(['OK', 'OK 0'])
  })

  it('gets exactly the limit from 200 requests at once', async () => {
    expect(await client.send({ ...ask(['burst', 'x']), times: 200 })).toStrictEqual({
      OK: 100,
      OVER_LIMIT: 100,
    })
  })

  it.each([
    ['no domain', { domain: '', descriptors: [{ entries: [] }] }, 'INVALID_ARGUMENT'],
    ['no descriptors', { domain: 'shop' }, 'INVALID_ARGUMENT'],
    [
      'an override with an unknown unit',
      { domain: 'shop', descriptors: [{ entries: [], limit: [1, 99] }] },
      'INVALID_ARGUMENT',
    ],
    ['1,001 descriptors', ask(...Array<[string, string]>(1001).fill(['user', 'x'])), 'INVALID_ARGUMENT'],
    ['a message that is cut off', { raw: Buffer.from([0x0a, 0x7f, 0x61]).toString('base64') }, 'INTERNAL'],
    ['bytes that are not a message', { raw: Buffer.alloc(2000, 0xff).toString('base64') }, 'INTERNAL'],
    ['a message of 300 KB', ask(['user', 'x'.repeat(300_000)]), 'RESOURCE_EXHAUSTED'],
    ['a message of 2 MB', ask(['user', 'x'.repeat(2_000_000)]), 'RESOURCE_EXHAUSTED'],
    [
      'an unknown method',
      { ...ask(['user', 'x']), path: '/envoy.service.ratelimit.v3.RateLimitService/Other' },
      'UNIMPLEMENTED',
    ],
  ])('gets an error for %s', async (_, line, error) => {
    expect(await client.send(line)).toMatchObject({ error })
  })

  it('gets responses for 1,000 descriptors, huge values and bytes that are not UTF-8', async () => {
    const many = await client.send(
      ask(...Array.from({ length: 1000 }, (_, i): [string, string] => ['user', `n${i}`])),
    )
    expect(many.statuses.map((status: { remaining: number }) => status.remaining)).toStrictEqual(
      Array(1000).fill(4),
    )
    const huge = ask(['user', 'x'.repeat(250_000)])
    expect((await client.send(huge)).statuses[0].remaining).toBe(4)
    expect((await client.send(huge)).statuses[0].remaining).toBe(3)
    // domain "shop", one descriptor with the entry user=<ff fe>
    const raw = Buffer.from('0a0473686f70120c0a0a0a04757365721202fffe', 'hex').toString('base64')
    expect((await client.send({ raw })).statuses[0].remaining).toBe(4)
  })

  it('gets the health of the server and of the service', async () => {
    for (const name of ['', 'ratelimit', 'envoy.service.ratelimit.v3.RateLimitService'])
      expect(await client.send({ health: name })).toStrictEqual({ health: 'SERVING' })
    expect(await client.send({ watch: '' })).toStrictEqual({ health: 'SERVING' })
    expect(await client.send({ watch: 'other' })).toStrictEqual({ health: 'SERVICE_UNKNOWN' })
    expect(await client.send({ health: 'other' })).toMatchObject({ error: 'NOT_FOUND' })
    for (const name of ['x'.repeat(200_000), `${'x'.repeat(55)}${'🙂'.repeat(9)}`])
      expect(await client.send({ health: name })).toMatchObject({ error: 'NOT_FOUND' })
  })

  it('is served while other connections send malformed frames', async () => {
    const port = Number(address().split(':')[1])
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
    const frames = [
      'GET / HTTP/1.1\r\n\r\n',
      preface + '\xff'.repeat(100),
      // A settings frame whose length is not a multiple of six, and headers on stream 0.
      `${preface}\x00\x00\x05\x04\x00\x00\x00\x00\x00aaaaa`,
      `${preface}\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x04\x00\x00\x00\x00\x82`,
    ]
    const ended = frames.map(
      (bytes) =>
        new Promise<void>((resolve) => {
          const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.from(bytes, 'latin1')))
          socket.on('error', () => {}).on('close', () => resolve())
          socket.resume()
          socket.setTimeout(1000, () => socket.destroy())
        }),
    )
    const session = openSession(address())
    expect(await grpcStatus(session, Buffer.from([0, 0xff, 0xff, 0xff, 0xff]))).toBe('8')
    expect(await grpcStatus(session, Buffer.from([1, 0, 0, 0, 1, 0]))).not.toBe('0')
    session.close()
    expect(await client.send(ask(['user', 'after']))).toMatchObject({ code: 'OK' })
    await Promise.all(ended)
  })

  it('is counted in the metrics, by rule', async () => {
    await client.send({ domain: 'elsewhere', descriptors: [{ entries: [['a', 'b']] }] })
    const metrics = await expositionAt(service.url)
    const rule = 'shop.burst'
    expect(valueIn(metrics, 'rate_limiter_rls_hits_total', { rule })).toBe(200)
    expect(valueIn(metrics, 'rate_limiter_rls_within_limit_total', { rule })).toBe(100)
    expect(valueIn(metrics, 'rate_limiter_rls_near_limit_total', { rule })).toBe(20)
    expect(valueIn(metrics, 'rate_limiter_rls_over_limit_total', { rule })).toBe(100)
    expect(valueIn(metrics, 'rate_limiter_rls_shadow_mode_total', { rule: 'shop.dry' })).toBe(1)
    expect(valueIn(metrics, 'rate_limiter_rls_unknown_domain_total')).toBe(1)
    expect(valueIn(metrics, 'rate_limiter_rls_requests_total', { code: 'over_limit' })).toBeGreaterThan(100)
    expect(valueIn(metrics, 'rate_limiter_rls_requests_total', { code: 'error' })).toBeGreaterThan(0)
    expect(service.logged).toContainEqual(expect.objectContaining({ level: 'warn', domain: 'elsewhere' }))
  })

  it('counts together with /json', async () => {
    const body = {
      domain: 'shop',
      descriptors: [{ entries: [{ key: 'user', value: 'json' }] }],
      hits_addend: 4,
    }
    expect(await service.post('/json', body)).toMatchObject({
      status: 200,
      body: {
        overallCode: 'OK',
        statuses: [
          {
            code: 'OK',
            currentLimit: { name: 'per-user', requestsPerUnit: 5, unit: 'DAY' },
            limitRemaining: 1,
          },
        ],
      },
    })
    expect(await client.send(ask(['user', 'json']))).toMatchObject({ statuses: [{ remaining: 0 }] })
    const asForm = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const denied = await service.post('/json', JSON.stringify(body), asForm)
    expect(denied).toMatchObject({ status: 429, body: { overallCode: 'OVER_LIMIT' } })
    expect(denied.body.statuses[0].durationUntilReset).toMatch(/^\d+s$/)
    for (const [wrong, message] of [
      ['{', 'The body must be JSON, such as '],
      ['{}', 'domain must not be empty.'],
      ['{"domain":1}', 'domain must be a string, got 1.'],
      [
        '{"domain":"a","other":1}',
        'Unknown field "other" in the body; the fields are domain, descriptors, hitsAddend.',
      ],
      [
        '{"domain":"a","descriptors":[{"hitsAddend":-1}]}',
        'descriptors[0].hitsAddend must be a whole number of at least 0, got -1.',
      ],
      [
        '{"domain":"a","hitsAddend":4294967296}',
        'hitsAddend must be a whole number from 0 to 4,294,967,295, got 4294967296.',
      ],
      [
        '{"domain":"a","descriptors":[{"limit":{"unit":"AGE"}}]}',
        'descriptors[0].limit.unit must be one of SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR, got "AGE".',
      ],
    ]) {
      const reply = await service.post('/json', wrong)
      expect(reply.status).toBe(400)
      expect(reply.body.message).toContain(message)
    }
  })
})

describe('a reload of the limits', () => {
  let folder: LimitsFolder
  let service: TestService
  beforeEach(async () => {
    folder = limitsFolder({ 'shop.yaml': LIMITS })
    service = await startService(`rls: { listen: 0, config: [${folder.path}] }`)
  })
  afterEach(async () => {
    await service?.close()
    folder?.remove()
  })
  const remaining = async (key = 'user', value = 'x', domain = 'shop') => {
    const { statuses } = await service.service.rls!.shouldRateLimit({
      domain,
      hitsAddend: 0,
      descriptors: [{ entries: [{ key, value }] }],
    })
    return statuses[0]!.limitRemaining
  }
  const health = async () => (await service.get('/actuator/health')).body.components.rls

  it('takes effect, keeps the counts of a changed limit, and includes new and removed files', async () => {
    expect(await remaining()).toBe(4)
    folder.write('shop.yaml', LIMITS.replace('requests_per_unit: 5', 'requests_per_unit: 50'))
    folder.write(
      'more.yaml',
      'domain: more\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 9 } }]',
    )
    // Waits for the health details: every call of `remaining` counts a hit, and would use up the limit meanwhile.
    await until('the reload', async () => (await health()).details.domains === 2)
    expect(await remaining('a', 'x', 'more')).toBe(8)
    expect(await remaining()).toBe(48)
    folder.remove('more.yaml')
    await until('the next reload', async () => (await health()).details.domains === 1)
    // A domain without limits.
    expect(await remaining('a', 'x', 'more')).toBe(0)
    expect(
      valueIn(await expositionAt(service.url), 'rate_limiter_rls_config_reloads_total', { result: 'ok' }),
    ).toBe(2)
    expect(await health()).toStrictEqual({ status: 'UP', details: { domains: 1, rules: 4 } })
  })

  it('with errors keeps the previous limits, and is reported in log, metrics and health until it is corrected', async () => {
    folder.write('shop.yaml', LIMITS.replace('day', 'dag'))
    await until('the error', async () => (await health()).status === 'STALE')
    expect(await remaining()).toBe(4)
    expect((await service.get('/healthcheck')).body).toBe(
      'OK, but the limit files have errors; the previous limits are active',
    )
    const metrics = await expositionAt(service.url)
    expect(valueIn(metrics, 'rate_limiter_rls_config_stale')).toBe(1)
    expect(valueIn(metrics, 'rate_limiter_rls_config_reloads_total', { result: 'failed' })).toBe(1)
    const error = service.logged.find(({ level }) => level === 'error')
    expect(error?.errors).toStrictEqual([expect.stringMatching(/shop\.yaml:4:38 {2}.*unknown unit "dag"/)])
    folder.write('shop.yaml', LIMITS)
    await until('the corrected file', async () => (await health()).status === 'UP')
    expect((await service.get('/healthcheck')).body).toBe('OK')
  })

  it('of an empty folder keeps the previous limits', async () => {
    folder.remove('shop.yaml')
    await until('the error', async () => (await health()).status === 'STALE')
    expect(await remaining()).toBe(4)
  })
})

describe('connections', () => {
  it('beyond the maximum are closed on arrival, and counted', async () => {
    const folder = limitsFolder({ 'shop.yaml': LIMITS })
    const service = await startService(
      `rls: { listen: 0, config: [${folder.path}], connections: { max: 2 } }`,
    )
    const [host = '', port] = service.service.rls!.address.split(':')
    const sockets: Socket[] = []
    const open = async () => {
      const socket = connect(Number(port), host).on('error', () => {})
      sockets.push(socket)
      const isRefused = await Promise.race([once(socket, 'close').then(() => true), setTimeout(300, false)])
      return { socket, isRefused }
    }
    try {
      // A tenth of the maximum is one connection for each client.
      const first = await open()
      const second = await open()
      expect([first.isRefused, second.isRefused]).toStrictEqual([false, true])
      const metrics = await expositionAt(service.url)
      expect(valueIn(metrics, 'rate_limiter_rls_connections')).toBe(1)
      expect(valueIn(metrics, 'rate_limiter_rls_connections_max')).toBe(2)
      const refused = 'rate_limiter_rls_connections_refused_total'
      expect(valueIn(metrics, refused, { reason: 'max_per_client' })).toBe(1)
      first.socket.destroy()
      await until('a connection to be accepted again', async () => !(await open()).isRefused)
    } finally {
      for (const socket of sockets) socket.destroy()
      await service.close()
      folder.remove()
    }
  })
})

it('a client that watches the health does not delay a stop', async () => {
  const folder = limitsFolder({ 'shop.yaml': LIMITS })
  const service = await startService(`rls: { listen: 0, config: [${folder.path}] }`)
  const session = openSession(service.service.rls!.address)
  const stream = openStream(session, '/grpc.health.v1.Health/Watch')
  stream.end(framed(Buffer.alloc(0)))
  await once(stream, 'data')
  // Less than `limits.stopTimeout`.
  expect(await Promise.race([service.close().then(() => 'stopped'), setTimeout(5000, 'late')])).toBe(
    'stopped',
  )
  session.destroy()
  folder.remove()
})

describe('TLS', () => {
  it('is required, and with clientCaFile a client certificate too', async () => {
    const server = makeCertificate()
    const other = makeCertificate()
    const folder = limitsFolder({ 'a.limits': LIMITS })
    const files = limitsFolder()
    const at = (name: string, text: string) => files.write(name, text)
    const paths = {
      cert: at('server.crt', server.cert),
      key: at('server.key', server.key),
      ownCert: at('client.crt', other.cert),
      ownKey: at('client.key', other.key),
    }
    const yaml = (more: string) =>
      `rls: { listen: 0, config: [${folder.path}], tls: { certFile: ${paths.cert}, keyFile: ${paths.key}${more} } }`
    const tls = await startService(yaml(''))
    const mutual = await startService(yaml(`, clientCaFile: ${paths.ownCert}`))
    const clients: RlsClient[] = []
    const send = (service: TestService, ...options: string[]) => {
      const client = rlsClient(service.service.rls!.address, ...options)
      clients.push(client)
      return client.send({ ...ask(['user', 'x']), timeout: 3 })
    }
    try {
      const trust = ['--ca', paths.cert]
      const identity = ['--cert', paths.ownCert, '--key', paths.ownKey]
      const answers = await Promise.all([
        send(tls, ...trust),
        send(tls),
        send(mutual, ...trust, ...identity),
        send(mutual, ...trust),
        send(mutual, ...trust, '--cert', paths.cert, '--key', paths.key),
      ])
      expect(answers.map(({ code, error }) => code ?? error)).toStrictEqual([
        'OK',
        'UNAVAILABLE',
        'OK',
        'UNAVAILABLE',
        'UNAVAILABLE',
      ])
    } finally {
      for (const client of clients) await client.close()
      await tls.close()
      await mutual.close()
      folder.remove()
      files.remove()
    }
  })
})
