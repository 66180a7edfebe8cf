import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expositionAt, seriesIn, valueIn } from '../../test/scrape.js'
import { BATCH, CHECK, startService, type TestService } from '../../test/start-service.js'

const FILE = `
policies:
  login: { algorithm: sliding-window-log, limit: 2, window: 1d }
  token_bucket: { capacity: 3, refillRate: 1/1d }
rules:
  - { name: login, key: "ip:{ip}", policy: login }
`

describe('metrics', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(FILE)
  })
  afterAll(() => service?.close())

  it('are the same under both names, in the format that Prometheus reads', async () => {
    const [long, short] = [await service.get('/actuator/prometheus'), await service.get('/metrics')]
    expect(long.status).toBe(200)
    expect(long.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(short.headers.get('content-type')).toBe(long.headers.get('content-type'))
    const [one, other] = [
      await expositionAt(service.url, '/actuator/prometheus'),
      await expositionAt(service.url),
    ]
    expect(seriesIn(one)).toStrictEqual(seriesIn(other))
  })

  it('count checks by algorithm, by policy, and by decision', async () => {
    const before = await expositionAt(service.url)
    for (let i = 0; i < 5; i++) await service.get(`${CHECK}?key=counted`)
    for (let i = 0; i < 3; i++) await service.post(CHECK, { key: 'counted', policy: 'login' })
    const after = await expositionAt(service.url)
    const grown = (name: string, labels: Record<string, string>) =>
      valueIn(after, name, labels) - valueIn(before, name, labels)
    const bucket = { algorithm: 'TOKEN_BUCKET' }
    const log = { algorithm: 'SLIDING_WINDOW' }
    for (const name of ['rate_limiter_requests_total', 'rate_limiter_check_seconds_count']) {
      expect(grown(name, { ...bucket, allowed: 'true' })).toBe(3)
      expect(grown(name, { ...bucket, allowed: 'false' })).toBe(2)
      expect(grown(name, { ...log, allowed: 'true' })).toBe(2)
      expect(grown(name, { ...log, allowed: 'false' })).toBe(1)
    }
    expect(grown('rate_limiter_policy_requests_total', { policy: 'login', allowed: 'false' })).toBe(1)
    expect(grown('rate_limiter_policy_requests_total', { policy: 'token_bucket', allowed: 'true' })).toBe(3)
  })

  it('have a histogram of the check latency in seconds', async () => {
    await service.get(`${CHECK}?key=timed`)
    const exposition = await expositionAt(service.url)
    expect(exposition.types.get('rate_limiter_check_seconds')).toBe('HISTOGRAM')
    const labels = { algorithm: 'TOKEN_BUCKET', allowed: 'true' }
    const bounds = [0.00001, 0.0001, 0.001, 0.01, 0.1, 1, '+Inf']
    const counts = bounds.map((le) =>
      valueIn(exposition, 'rate_limiter_check_seconds_bucket', { ...labels, le: String(le) }),
    )
    expect(counts).toStrictEqual([...counts].sort((a, b) => a - b))
    expect(counts.at(-1)).toBe(valueIn(exposition, 'rate_limiter_check_seconds_count', labels))
    const sum = valueIn(exposition, 'rate_limiter_check_seconds_sum', labels)
    expect(sum).toBeGreaterThan(0)
    expect(sum).toBeLessThan(counts.at(-1)!)
  })

  it('count batches by their size, and each check in them', async () => {
    const before = await expositionAt(service.url)
    await service.post(BATCH, { checks: [{ key: 'b1' }, { key: 'b2' }, { key: 'b3', policy: 'login' }] })
    await service.post(BATCH, { checks: [{ key: 'b1' }, { key: 'b2' }], atomic: true })
    const after = await expositionAt(service.url)
    const size = (part: string, labels = {}) => valueIn(after, `rate_limiter_batch_size_${part}`, labels)
    expect([
      size('count'),
      size('sum'),
      size('bucket', { le: '2' }),
      size('bucket', { le: '5' }),
    ]).toStrictEqual([2, 5, 1, 2])
    const labels = { algorithm: 'TOKEN_BUCKET', allowed: 'true' }
    const name = 'rate_limiter_requests_total'
    expect(valueIn(after, name, labels) - valueIn(before, name, labels)).toBe(4)
  })

  it('describe the store, the configuration and the process', async () => {
    const exposition = await expositionAt(service.url)
    expect(valueIn(exposition, 'rate_limiter_store_up')).toBe(1)
    expect(valueIn(exposition, 'rate_limiter_breaker_state', { state: 'closed' })).toBe(1)
    expect(valueIn(exposition, 'rate_limiter_breaker_state', { state: 'open' })).toBe(0)
    for (const mode of ['open', 'closed', 'local']) {
      expect(valueIn(exposition, 'rate_limiter_degraded_total', { mode })).toBe(0)
    }
    expect(valueIn(exposition, 'rate_limiter_store_errors_total')).toBe(0)
    expect(valueIn(exposition, 'rate_limiter_config_reloads_total', { result: 'ok' })).toBe(0)
    expect(valueIn(exposition, 'rate_limiter_config_reloads_total', { result: 'failed' })).toBe(0)
    expect(valueIn(exposition, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
  })

  it('have all series from the start', async () => {
    const fresh = await startService(FILE)
    try {
      const exposition = await expositionAt(fresh.url)
      for (const algorithm of [
        'TOKEN_BUCKET',
        'SLIDING_WINDOW',
        'SLIDING_WINDOW_COUNTER',
        'FIXED_WINDOW',
        'LEAKY_BUCKET',
      ]) {
        for (const allowed of ['true', 'false']) {
          const labels = { algorithm, allowed }
          expect(valueIn(exposition, 'rate_limiter_requests_total', labels)).toBe(0)
          expect(valueIn(exposition, 'rate_limiter_check_seconds_bucket', { ...labels, le: '0.01' })).toBe(0)
        }
      }
      expect(
        valueIn(exposition, 'rate_limiter_policy_requests_total', { policy: 'login', allowed: 'true' }),
      ).toBe(0)
    } finally {
      await fresh.close()
    }
  })

  it('have no series for keys, paths and methods of clients', async () => {
    // A rule, a denial and an invalid request have been counted before, too.
    await service.post(CHECK, { request: { method: 'GET', path: '/', ip: '192.0.2.1' } })
    const before = seriesIn(await expositionAt(service.url))
    const methods = METHODS.filter((method) => method !== 'CONNECT')
    const heads = Array.from({ length: 10_000 }, (_, i) => {
      const query = `key=flood-${i}&permits=1`
      return [
        `GET ${CHECK}?${query} HTTP/1.1`,
        `${methods[i % methods.length]} /flood-${i}/${i}?${query} HTTP/1.1`,
        `${methods[i % methods.length]} ${CHECK}?flood-${i}=1 HTTP/1.1`,
      ][i % 3]
    })
    await sendAll(
      service.url,
      heads.map((head) => `${head}\r\nhost: a\r\nx-request-id: flood-id\r\n\r\n`),
    )
    const keys = Array.from({ length: 10_000 }, (_, i) => ({ key: `flood-key-${i}`, policy: 'login' }))
    for (let i = 0; i < keys.length; i += 1000) await service.post(BATCH, { checks: keys.slice(i, i + 1000) })
    const after = await expositionAt(service.url)
    expect(seriesIn(after)).toStrictEqual(before)
    expect(after.text).not.toContain('flood')
    expect(
      valueIn(after, 'rate_limiter_policy_requests_total', { policy: 'login', allowed: 'true' }),
    ).toBeGreaterThan(9999)
  })
})

/** Sends requests one after the other on one connection, and waits for as many answers. */
function sendAll(url: string, requests: readonly string[]): Promise<void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(requests.join('')))
    let answers = 0
    let rest = ''
    socket.on('data', (data) => {
      const text = rest + data.toString('latin1')
      answers += text.split('HTTP/1.1 ').length - 1
      // The status line may be split between two chunks.
      rest = text.slice(text.lastIndexOf('\n') + 1).replaceAll('HTTP/1.1 ', '')
      if (answers >= requests.length) socket.destroy()
    })
    socket.setTimeout(20_000, () => socket.destroy(new Error(`${answers} of ${requests.length} answers`)))
    socket.on('error', reject).on('close', () => resolve())
  })
}
