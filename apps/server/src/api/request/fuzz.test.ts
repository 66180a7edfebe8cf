import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { MemoryStore } from '@tidegate/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Malformed, malformedRequests } from '../../../test/malformed.js'
import { statusOf } from '../../../test/raw-http.js'
import { CHECK, REMAINING, startService, type TestService } from '../../../test/start-service.js'

const SEED = 20_261_115
const REQUESTS = 12_000
const AT_ONCE = 24

describe('12,000 malformed requests', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(
      'adminToken: fuzz-admin-token-1\ntrustedProxies: [127.0.0.1]\npolicies: { token_bucket: { capacity: 100, refillRate: 1/1d } }',
    )
  })
  afterAll(() => service?.close())

  it('are rejected, without an effect on counts, log and memory', async () => {
    await service.get(`${CHECK}?key=probe&permits=7`)
    const { size } = service.service.store as MemoryStore
    const wrong: string[] = []
    const seen = new Map<string, number>()
    const requests = malformedRequests(SEED)
    let heapAfterWarmUp = 0
    for (let sent = 0; sent < REQUESTS; sent += 2000) {
      await inParallel(2000, requests, async (malformed) => {
        const answer = await exchange(service.url, malformed.bytes)
        seen.set(malformed.kind, (seen.get(malformed.kind) ?? 0) + 1)
        const problem = problemWith(answer, malformed)
        if (problem !== undefined) wrong.push(`${malformed.kind}: ${problem}: ${show(malformed.bytes)}`)
      })
      if (sent === 2000) heapAfterWarmUp = heapInUse()
    }
    expect(wrong.slice(0, 20)).toStrictEqual([])
    expect(Math.min(...seen.values())).toBeGreaterThan(100)

    expect((await service.get(`${REMAINING}?key=probe`)).body.remaining).toBe(93)
    expect((service.service.store as MemoryStore).size).toBe(size)
    expect((await service.get(`${CHECK}?key=probe`)).body.remaining).toBe(92)
    expect(service.logged.filter(({ level }) => level === 'error' || level === 'fatal')).toStrictEqual([])
    expect(heapInUse() - heapAfterWarmUp).toBeLessThan(8 * 1024 * 1024)
  })
})

/** Every response must be a 4xx. Invalid HTTP may also get no response. */
function problemWith(answer: string, { isInvalidHttp }: Malformed): string | undefined {
  if (answer === '') return isInvalidHttp ? undefined : 'no response'
  for (const [line] of answer.matchAll(/^HTTP\/1\.1 \d{3}/gm)) {
    const status = statusOf(line)
    if (status < 400 || status > 499) return line
  }
  return answer.startsWith('HTTP/1.1 ') ? undefined : 'not HTTP'
}

/** Sends these bytes, and returns everything that is received until the connection closes. */
function exchange(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.end(bytes))
    let answer = ''
    socket.setTimeout(30_000, () => socket.destroy())
    socket.on('data', (data) => {
      answer += data.toString('latin1')
    })
    // The response may arrive before everything was sent.
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

async function inParallel<T>(
  count: number,
  source: Iterator<T>,
  use: (one: T) => Promise<void>,
): Promise<void> {
  let left = count
  const work = async () => {
    while (left-- > 0) await use(source.next().value)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

function heapInUse(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed
}

function show(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1').slice(0, 300))
}
