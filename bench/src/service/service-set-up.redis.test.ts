import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startRedis } from '@tidegate/fixtures/redis-server'
import { afterEach, expect, it } from 'vitest'
import { startBare, startTidegate } from './service-server.js'
import { assertAlike, assertCounts, countedBy, responseOf } from './service-set-up.js'

let closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
})

/** Stops it after the test. */
async function keep<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const started = await starting
  closing.push(started.stop)
  return started
}

it.each(['memory', 'Redis'])(
  'the service on %s counts each key separately, and every check',
  async (kind) => {
    const store = kind === 'memory' ? 'memory' : (await keep(startRedis())).url
    const { url } = await keep(startTidegate(store))
    await assertCounts(url)
    expect(await countedBy(url)).toStrictEqual({ allowed: 100, denied: 0, degraded: 0 })
  },
)

it('the bare route sends the response of the service', async () => {
  const { url } = await keep(startTidegate('memory'))
  const response = await responseOf(url)
  expect(Object.keys(response.headers)).toContain('ratelimit-policy')
  const baseline = await keep(startBare(response))
  await assertAlike(response, baseline.url)
  const { 'x-ratelimit-limit': _, ...headers } = response.headers
  const lighter = await keep(startBare({ ...response, headers }))
  await expect(assertAlike(response, lighter.url)).rejects.toThrow('a different headers')
})

it('rejects a service that counts nothing', async () => {
  const server: Server = createServer((_request, response) => {
    response.end('{"limit":100,"remaining":100}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await expect(assertCounts(url)).rejects.toThrow(
    '"set-up:0" was checked 1 times; got 200, 100 of 100 remaining',
  )
})
