import { fixedWindow, type Policy, type Store, withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause, until } from '@tidegate/fixtures/until'
import calculateSlot from 'cluster-key-slot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEFAULT_PREFIX, redisKey } from '../src/keys.js'
import { RedisStore } from '../src/redis-store.js'
import { cutUnderLoad } from './cut-under-load.js'
import { clientOf, isPrimary } from './redis-clients.js'
import { keyOn, type RedisCluster, startCluster } from './redis-cluster.js'
import { type RedisSentinels, startSentinels } from './redis-sentinel.js'

/** Long, so that no unit becomes available again during a test. */
const WINDOW = '366d'

function codeOf(error: { code?: unknown }): unknown {
  return error.code
}

interface Load {
  allowed: number
  denied: number
  failed: number
  /** When each worker got its last decision. */
  answeredAt: number[]
  stop(): Promise<void>
}

const WORKERS = 16

/** Workers that check one key, each a millisecond after its last decision. */
function startLoad(store: Store, policy: Policy, key: string): Load {
  let isRunning = true
  const load: Load = {
    allowed: 0,
    denied: 0,
    failed: 0,
    answeredAt: Array.from({ length: WORKERS }, () => 0),
    stop: async () => {
      isRunning = false
      await all
    },
  }
  const work = async (worker: number) => {
    while (isRunning) {
      try {
        const { allowed } = await store.check({ policy, key, cost: 1 })
        if (allowed) load.allowed++
        else load.denied++
        load.answeredAt[worker] = performance.now()
      } catch {
        load.failed++
      }
      await pause(1)
    }
  }
  const all = Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
  return load
}

type Signal = 'SIGKILL' | 'SIGSTOP'

const LOSSES: [string, Signal][] = [
  ['is killed', 'SIGKILL'],
  ['hangs', 'SIGSTOP'],
]

/** Stops the primary under load, and waits until another server has answered and the limit is used up. */
async function loseUnderLoad(options: {
  title: string
  url: string
  policy: Policy
  key: string
  primary: RedisServer
  replicas: RedisServer[]
  /** SIGKILL closes its connections; SIGSTOP leaves them open without answers. */
  signal: Signal
}): Promise<void> {
  const { title, url, policy, key, primary, replicas, signal } = options
  // Without the denial cache, so that every check reaches Redis.
  const store = new RedisStore(url, { denialCacheMs: 0 })
  const load = startLoad(store, policy, key)
  try {
    await until('the load to run', async () => load.allowed > policy.limit / 10)
    const allowedBefore = load.allowed
    const killedAt = performance.now()
    primary.process.kill(signal)
    await until('a promotion', async () =>
      (await Promise.all(replicas.map((replica) => isPrimary(replica)))).some(Boolean),
    )
    const promotedAt = performance.now()
    await until('a decision after the promotion', () => load.answeredAt.some((at) => at > promotedAt), {
      timeoutMs: 5000,
    })
    const answeredAt = Math.max(...load.answeredAt)
    await until('a decision for every worker', () => load.answeredAt.every((at) => at > promotedAt))
    const failed = load.failed
    await until('the limit to be used up', async () => load.denied > 1000)
    await load.stop()
    const tooMany = Math.max(0, load.allowed - policy.limit)
    console.log(
      `${title}: promoted ${Math.round(promotedAt - killedAt)} ms after the loss, first decision ` +
        `${Math.max(0, Math.round(answeredAt - promotedAt))} ms later; ${load.failed} checks failed in ` +
        `between; ${tooMany} admitted above the limit of ${policy.limit}`,
    )
    // No check fails after the recovery.
    expect(load.failed).toBe(failed)
    // Only checks that the promoted server had not received yet can be admitted twice.
    expect(tooMany).toBeLessThanOrEqual(allowedBefore + WORKERS)
  } finally {
    await load.stop()
    await store.close()
  }
}

describe.each(LOSSES)('when a primary %s under load', (how, signal) => {
  let sentinels: RedisSentinels | undefined
  let cluster: RedisCluster | undefined
  afterAll(async () => {
    await sentinels?.stop()
    await cluster?.stop()
  })

  it('Sentinel: checks work again within 5 s of the promotion', async () => {
    sentinels = await startSentinels()
    const [primary, ...replicas] = sentinels.nodes as [RedisServer, ...RedisServer[]]
    const policy = fixedWindow({ limit: 10_000, window: WINDOW, name: 'sentinel' })
    const title = `Sentinel, the primary ${how}`
    await loseUnderLoad({ title, url: sentinels.url, policy, key: 'k', primary, replicas, signal })
  })

  it('Cluster: checks work again within 5 s of the promotion', async () => {
    cluster = await startCluster()
    const [primary, replicas] = [cluster.nodes[0]!, [cluster.nodes[3]!]]
    const policy = fixedWindow({ limit: 10_000, window: WINDOW, name: 'cluster' })
    const [title, key] = [`Cluster, a primary ${how}`, keyOn(0, policy)]
    await loseUnderLoad({ title, url: cluster.url, policy, key, primary, replicas, signal })
  })
})

describe('one server', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.stop())

  it('that hangs fails every check with STORE_FAILED, and works when it continues', async () => {
    const policy = fixedWindow({ limit: 1000, window: WINDOW, name: 'silent' })
    const store = new RedisStore(server.url, { connectTimeoutMs: 200 })
    const check = () => store.check({ policy, key: 'k', cost: 1 }).then(() => 'answered', codeOf)
    try {
      expect(await check()).toBe('answered')
      server.process.kill('SIGSTOP')
      const all = await Promise.all(Array.from({ length: 100 }, check))
      expect(new Set(all)).toStrictEqual(new Set(['STORE_FAILED']))
      expect(await check()).toBe('STORE_FAILED')
      server.process.kill('SIGCONT')
      await until('an answer', async () => (await check()) === 'answered')
    } finally {
      await store.close()
    }
  })

  it('an invalid request is rejected with a code, and does not count as a failure of Redis', async () => {
    const policy = fixedWindow({ limit: 1000, window: WINDOW, name: 'invalid-request' })
    const store = withFallback(new RedisStore(server.url))
    const request = { policy, key: 'k', cost: 1 }
    for (let i = 0; i < 10; i++) {
      for (const invalid of [undefined, null, 'k']) {
        const take = store.take([request, invalid as never])
        await expect(take).rejects.toMatchObject({ code: 'TAKE_INVALID' })
      }
      await expect(store.check(undefined as never)).rejects.toThrow(TypeError)
    }
    expect(store.breakerState).toBe('closed')
    expect((await store.check(request)).remaining).toBe(999)
    await store.close()
  })

  it('the store connects again if its primary has become a replica', async () => {
    const policy = fixedWindow({ limit: 1000, window: WINDOW, name: 'demoted' })
    const store = new RedisStore(server.url)
    const client = clientOf(server)
    const check = () => store.check({ policy, key: 'k', cost: 1 }).then(() => 'answered', String)
    const connections = async () =>
      Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1])
    try {
      expect(await check()).toBe('answered')
      const before = await connections()
      await client.replicaof('127.0.0.1', 1)
      expect(await check()).toContain('READONLY')
      await until('a new connection', async () => (await connections()) === before + 1)
      await client.replicaof('NO', 'ONE')
      await until('an answer', async () => (await check()) === 'answered')
    } finally {
      await client.replicaof('NO', 'ONE')
      client.disconnect()
      await store.close()
    }
  })

  it('calls that were lost with a connection are not resent, so each check is charged at most once', async () => {
    await cutUnderLoad(server.url, server, (_, n) => `k${n}`)
  })
})

it('a check of a slot that a cluster does not serve fails, and is not executed later', async () => {
  const cluster = await startCluster()
  const policy = fixedWindow({ limit: 100, window: WINDOW, name: 'unserved' })
  const request = { policy, key: keyOn(0, policy), cost: 1 }
  const slot = calculateSlot(redisKey(DEFAULT_PREFIX, policy.name, request.key))
  const store = new RedisStore(cluster.url)
  const client = clientOf(cluster.nodes[0]!)
  try {
    expect((await store.check(request)).remaining).toBe(99)
    await client.cluster('DELSLOTS', slot)
    const check = store.check(request).then(() => 'answered', String)
    await Promise.race([check, pause(300)])
    await client.cluster('ADDSLOTS', slot)
    expect(await check).toContain('CLUSTERDOWN')
    await until('an answer', () =>
      store.peek(request).then(
        ({ remaining }) => remaining === 99,
        () => false,
      ),
    )
  } finally {
    client.disconnect()
    await store.close()
    await cluster.stop()
  }
})
