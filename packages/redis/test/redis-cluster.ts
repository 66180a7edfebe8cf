import type { Policy } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import calculateSlot from 'cluster-key-slot'
import type { Redis } from 'ioredis'
import { DEFAULT_PREFIX, redisKey } from '../src/keys.js'
import { clientOf } from './redis-clients.js'
import { startAll } from './start-all.js'

/** A cluster for a test: three primaries and three replicas. */
export interface RedisCluster {
  url: string
  /** The three initial primaries, then the replica of each. */
  nodes: RedisServer[]
  stop(): Promise<void>
}

const PRIMARIES = 3
const SLOTS = 16_384

export interface ClusterOptions {
  /** How long a node may be silent before the others promote its replica. Default: 500. */
  nodeTimeoutMs?: number
}

export async function startCluster({ nodeTimeoutMs = 500 }: ClusterOptions = {}): Promise<RedisCluster> {
  const args = ['--cluster-enabled', 'yes', '--repl-diskless-sync-delay', '0']
  // A short timeout makes the nodes exchange messages often, so that they form a cluster soon.
  args.push('--cluster-node-timeout', '500')
  // Other nodes list a replica once it has received something from its primary, such as a ping.
  args.push('--repl-ping-replica-period', '1')
  const nodes = await startAll(Array.from({ length: 2 * PRIMARIES }, () => startRedis(args)))
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  const clients = nodes.map(clientOf)
  try {
    await join(nodes, clients)
    await Promise.all(
      clients.map((client) => client.config('SET', 'cluster-node-timeout', String(nodeTimeoutMs))),
    )
  } catch (error) {
    await stop()
    throw error
  } finally {
    for (const client of clients) client.disconnect()
  }
  const hosts = nodes.slice(0, PRIMARIES).map((node) => `127.0.0.1:${node.port}`)
  return { url: `redis+cluster://${hosts.join(',')}`, nodes, stop }
}

/** A key of the policy that lives on the n-th of a new cluster's three primaries, under the default prefix. */
export function keyOn(primary: number, policy: Policy, from = 0): string {
  for (let i = from; i < from + 1000; i++) {
    const key = `key-${i}`
    const slot = calculateSlot(redisKey(DEFAULT_PREFIX, policy.name, key))
    if (Math.floor((slot * PRIMARIES) / SLOTS) === primary) return key
  }
  throw new Error(`no key for primary ${primary} in 1,000 attempts`)
}

async function join(nodes: readonly RedisServer[], clients: readonly Redis[]): Promise<void> {
  const primaries = clients.slice(0, PRIMARIES)
  for (const [i, client] of clients.entries()) await client.cluster('SET-CONFIG-EPOCH', i + 1)
  for (const [i, client] of primaries.entries()) {
    const [from, to] = [i, i + 1].map((n) => Math.round((n * SLOTS) / PRIMARIES))
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from!, to! - 1)
  }
  for (const node of nodes.slice(1)) await clients[0]!.cluster('MEET', '127.0.0.1', node.port)
  await until('all nodes to know each other', () =>
    every(clients, async (client) => {
      const nodeList = String(await client.cluster('NODES'))
        .trim()
        .split('\n')
      return nodeList.length === nodes.length && !nodeList.some((line) => line.includes('handshake'))
    }),
  )
  for (const [i, replica] of clients.slice(PRIMARIES).entries()) {
    await replica.cluster('REPLICATE', String(await primaries[i]!.call('CLUSTER', 'MYID')))
  }
  await until('every node to report that the cluster is up, with a replica of each primary', () =>
    every(clients, async (client) => {
      const slots = (await client.cluster('SLOTS')) as unknown[][]
      const isUp = String(await client.cluster('INFO')).includes('cluster_state:ok')
      // Each range has its first slot, its last slot, the primary and the replica.
      return isUp && slots.length === PRIMARIES && slots.every((range) => range.length === 4)
    }),
  )
  await until('the replicas to be in sync', () =>
    every(clients.slice(PRIMARIES), async (client) =>
      (await client.info('replication')).includes('master_link_status:up'),
    ),
  )
}

async function every<T>(all: readonly T[], isSo: (one: T) => Promise<boolean>): Promise<boolean> {
  return (await Promise.all(all.map(isSo))).every(Boolean)
}
