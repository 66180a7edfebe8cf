import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RedisServer, startRedis, startServer } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { clientOf } from './redis-clients.js'
import { startAll } from './start-all.js'

/** A primary with two replicas for a test, and three sentinels that watch them. */
export interface RedisSentinels {
  url: string
  /** The initial primary, then its replicas. */
  nodes: RedisServer[]
  sentinels: RedisServer[]
  stop(): Promise<void>
}

const NAME = 'tidegate'

export interface SentinelOptions {
  /** How long the primary may be silent before another is promoted. Default: 500. */
  downAfterMs?: number
}

export async function startSentinels({ downAfterMs = 500 }: SentinelOptions = {}): Promise<RedisSentinels> {
  const started: RedisServer[] = []
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()))
  }
  try {
    const sync = ['--repl-diskless-sync-delay', '0']
    const primary = await startRedis(sync)
    started.push(primary)
    const replicaOf = ['--replicaof', '127.0.0.1', String(primary.port), ...sync]
    const replicas = await startAll([startRedis(replicaOf), startRedis(replicaOf)])
    started.push(...replicas)
    for (const replica of replicas) {
      await untilReported(replica, 'the replica to be in sync', (client) => client.info('replication'), [
        'master_link_status:up',
      ])
    }
    const sentinels = await startAll([1, 2, 3].map(() => startSentinel(primary.port, downAfterMs)))
    started.push(...sentinels)
    for (const sentinel of sentinels) {
      await untilReported(sentinel, 'the sentinel to know all servers', (client) => client.info('sentinel'), [
        'status=ok',
        'slaves=2',
        'sentinels=3',
      ])
    }
    const hosts = sentinels.map((sentinel) => `127.0.0.1:${sentinel.port}`)
    const nodes = [primary, ...replicas]
    return { url: `redis+sentinel://${hosts.join(',')}/${NAME}`, nodes, sentinels, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function startSentinel(primaryPort: number, downAfterMs: number): Promise<RedisServer> {
  return startServer((folder) => {
    // A sentinel writes its state into its configuration file.
    const file = join(folder, 'sentinel.conf')
    writeFileSync(
      file,
      [
        `sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 2`,
        `sentinel down-after-milliseconds ${NAME} ${downAfterMs}`,
        `sentinel failover-timeout ${NAME} 3000`,
        `sentinel parallel-syncs ${NAME} 2`,
        '',
      ].join('\n'),
    )
    return [file, '--sentinel']
  })
}

async function untilReported(
  server: RedisServer,
  what: string,
  ask: (client: ReturnType<typeof clientOf>) => Promise<string>,
  words: readonly string[],
): Promise<void> {
  const client = clientOf(server)
  try {
    await until(what, async () => {
      const report = await ask(client)
      return words.every((word) => report.includes(word))
    })
  } finally {
    client.disconnect()
  }
}
