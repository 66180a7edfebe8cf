import { fixedWindow, type Policy, type Store, withFallback } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import calculateSlot from 'cluster-key-slot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cutUnderLoad } from '../test/cut-under-load.js'
import { clientOf, isPrimary } from '../test/redis-clients.js'
import { keyOn, type RedisCluster, startCluster } from '../test/redis-cluster.js'
import { type RedisSentinels, startSentinels } from '../test/redis-sentinel.js'
import { DEFAULT_PREFIX, redisKey } from './keys.js'
import { RedisStore } from './redis-store.js'

/** Nothing comes back by itself within a test. */
const WINDOW = '366d'

function codeOf(error: { code?: unknown }): unknown {
  return error.code
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

interface Load {
  allowed: number
  refused: number
  failed: number
  /** When the last check failed, and when one was last answered. */
  lastFailureAt: number
  lastAnswerAt: number
  stop(): Promise<void>
}

/** Sixteen at a time check one key, each a moment after its last answer. */
function startLoad(store: Store, policy: Policy, key: string): Load {
  let isRunning = true
  const load: Load = {
    allowed: 0,
    refused: 0,
    failed: 0,
    lastFailureAt: 0,
    lastAnswerAt: 0,
    stop: async () => {
      isRunning = false
      await all
    },
  }
  const work = async () => {
    while (isRunning) {
      try {
        const { allowed } = await store.check({ policy, key, cost: 1 })
        if (allowed) load.allowed++
        else load.refused++
        load.lastAnswerAt = performance.now()
      } catch {
        load.failed++
        load.lastFailureAt = performance.now()
      }
      await pause(1)
    }
  }
  const all = Promise.all(Array.from({ length: 16 }, work))
  return load
}

type Signal = 'SIGKILL' | 'SIGSTOP'

const LOSSES: [string, Signal][] = [
  ['is killed', 'SIGKILL'],
  ['falls silent', 'SIGSTOP'],
]

/** Takes the primary away under load, and waits until the load has been answered by another and used up the limit. */
async function loseUnderLoad(options: {
  title: string
  url: string
  policy: Policy
  key: string
  primary: RedisServer
  replicas: RedisServer[]
  /** SIGKILL ends its connections; SIGSTOP leaves them open, and silent. */
  signal: Signal
}): Promise<void> {
  const { title, url, policy, key, primary, replicas, signal } = options
  const store = new RedisStore(url)
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
    await until('an answer after the promotion', () => load.lastAnswerAt > promotedAt, {
      timeoutMs: 5000,
    })
    const answeredAt = load.lastAnswerAt
    await until('the limit to be used up', async () => load.refused > 0)
    await load.stop()
    const tooMany = Math.max(0, load.allowed - policy.limit)
    console.log(
      `${title}: promoted ${Math.round(promotedAt - killedAt)} ms after the loss, working ` +
        `${Math.max(0, Math.round(answeredAt - promotedAt))} ms later; ${load.failed} checks failed in ` +
        `between; ${tooMany} of ${policy.limit} admitted too many`,
    )
    // It works again for good, not now and then.
    expect(load.lastFailureAt - promotedAt).toBeLessThan(5000)
    // What the promoted server had not yet heard of can be admitted twice; nothing else can.
    expect(tooMany).toBeLessThanOrEqual(allowedBefore + 16)
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

  it('Sentinel: checks work again by themselves within 5 s of the promotion', async () => {
    sentinels = await startSentinels()
    const [primary, ...replicas] = sentinels.nodes as [RedisServer, ...RedisServer[]]
    const policy = fixedWindow({ limit: 10_000, window: WINDOW, name: 'sentinel' })
    const title = `Sentinel, the primary ${how}`
    await loseUnderLoad({ title, url: sentinels.url, policy, key: 'k', primary, replicas, signal })
  })

  it('Cluster: checks work again by themselves within 5 s of the promotion', async () => {
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

  it('one that falls silent is a STORE_FAILED for every check, and works when it goes on', async () => {
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

  it('what is no request is refused with a code, and is not held against Redis', async () => {
    const policy = fixedWindow({ limit: 1000, window: WINDOW, name: 'no-request' })
    const store = withFallback(new RedisStore(server.url))
    const request = { policy, key: 'k', cost: 1 }
    for (let i = 0; i < 10; i++) {
      for (const nothing of [undefined, null, 'k']) {
        const take = store.take([request, nothing as never])
        await expect(take).rejects.toMatchObject({ code: 'TAKE_INVALID' })
      }
      await expect(store.check(undefined as never)).rejects.toThrow(TypeError)
    }
    expect(store.breakerState).toBe('closed')
    expect((await store.check(request)).remaining).toBe(999)
    await store.close()
  })

  it('one that has become a replica is left for whoever is at its address now', async () => {
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

  it('what was lost with a connection is not sent again: each check is charged at most once', async () => {
    await cutUnderLoad(server.url, server, (_, n) => `k${n}`)
  })
})

it('a check of a slot that a cluster does not serve fails, and is not carried out once it does', async () => {
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
