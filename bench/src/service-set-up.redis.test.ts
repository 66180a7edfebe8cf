import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startRedis } from '@tidegate/fixtures/redis-server'
import { afterEach, expect, it } from 'vitest'
import { startBare, startTidegate } from './service-server.js'
import { answerOf, assertAlike, assertCounts, countedBy } from './service-set-up.js'

let closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
})

/** Hands it on, and ends it after the test. */
async function keep<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const started = await starting
  closing.push(started.stop)
  return started
}

it.each(['memory', 'Redis'])(
  'the service on %s counts every key by itself, and all of them',
  async (kind) => {
    const store = kind === 'memory' ? 'memory' : (await keep(startRedis())).url
    const { url } = await keep(startTidegate(store))
    await assertCounts(url)
    expect(await countedBy(url)).toStrictEqual({ allowed: 100, refused: 0, degraded: 0 })
  },
)

it('the bare route answers what the service answers', async () => {
  const { url } = await keep(startTidegate('memory'))
  const answer = await answerOf(url)
  expect(Object.keys(answer.headers)).toContain('ratelimit-policy')
  const bare = await keep(startBare(answer))
  await assertAlike(answer, bare.url)
  const { 'x-ratelimit-limit': _, ...headers } = answer.headers
  const lighter = await keep(startBare({ ...answer, headers }))
  await expect(assertAlike(answer, lighter.url)).rejects.toThrow('another headers')
})

it('a service that counts nothing is not timed', async () => {
  const server: Server = createServer((_request, response) => {
    response.end('{"limit":100,"remaining":100}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await expect(assertCounts(url)).rejects.toThrow('"set-up:0" was asked 1 times; it answered 200, 100 of 100')
})
