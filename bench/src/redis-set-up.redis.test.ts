import { startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeKeys } from './keys.js'
import { startCluster } from './redis-cluster.js'
import { makeRedisContender, OURS, PEERS, type RedisSubject } from './redis-contenders.js'
import { setUp } from './redis-set-up.js'

const CONTENDERS = [
  ...OURS,
  'token bucket, deadline and breaker',
  'token bucket, unbatched',
  ...PEERS,
  'plain EVALSHA',
]

describe.each([
  ['one server', startRedis],
  ['a cluster', startCluster],
])('on %s', (_, start) => {
  let servers: { url: string; stop(): Promise<void> }
  beforeAll(async () => {
    servers = await start()
  })
  afterAll(() => servers?.stop())

  it.each(CONTENDERS)('%s counts every key by itself', async (name) => {
    const subject = await makeRedisContender(name, servers.url)
    // Contenders of one algorithm share their names in Redis.
    await expect(
      setUp(
        subject,
        makeKeys(50).map((key) => `${name}:${key}`),
      ),
    ).resolves.toBeUndefined()
    await subject.close()
  })
})

it.each<[string, Partial<RedisSubject>, RegExp]>([
  ['counts nothing', { used: () => 0 }, /"user:0" was asked 1 times, 0 were counted/],
  ['counts all keys as one', { check: oneCounter() }, /"user:1" was asked 1 times, 2 were counted/],
])('a contender that %s is not timed', async (_, lie, message) => {
  const counts = new Map<string, number>()
  const honest: RedisSubject<number> = {
    check(key) {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return counts.get(key)!
    },
    isAllowed: () => true,
    used: (count) => count,
    close: async () => {},
  }
  await expect(setUp(honest, makeKeys(5))).resolves.toBeUndefined()
  await expect(setUp({ ...honest, ...lie } as RedisSubject, makeKeys(5))).rejects.toThrow(message)
})

function oneCounter() {
  let count = 0
  return () => ++count
}
