import { startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeKeys } from '../load/keys.js'
import { startCluster } from './cluster.js'
import { ALGORITHMS, LIBRARIES, makeRedisContender, type RedisSubject } from './redis-contenders.js'
import { setUp } from './redis-set-up.js'

const CONTENDERS = [
  ...ALGORITHMS,
  'token bucket, timeout and circuit breaker',
  'token bucket, unbatched',
  ...LIBRARIES,
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

  it.each(CONTENDERS)('%s counts each key separately', async (name) => {
    const subject = await makeRedisContender(name, servers.url)
    // Contenders with the same algorithm would share keys in Redis.
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
  ['counts nothing', { used: () => 0 }, /"user:0" was checked 1 times, but 0 units were counted/],
  [
    'counts all keys as one',
    { check: oneCounter() },
    /"user:1" was checked 1 times, but 2 units were counted/,
  ],
])('rejects a contender that %s', async (_, lie, message) => {
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
