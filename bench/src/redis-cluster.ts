import { Redis } from 'ioredis'
import { type RunningRedis, startRedis } from './redis-server.js'

const PRIMARIES = 3
const SLOTS = 16_384

/** A cluster of three primaries without replicas: what a check costs does not depend on them. */
export async function startCluster(): Promise<RunningRedis> {
  // Under load nobody should take another for dead.
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '60000']
  const nodes: Awaited<ReturnType<typeof startRedis>>[] = []
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  const clients: Redis[] = []
  try {
    for (let i = 0; i < PRIMARIES; i++) {
      const node = await startRedis(args)
      nodes.push(node)
      clients.push(new Redis(node.url))
    }
    await join(clients)
  } catch (error) {
    await stop()
    throw error
  } finally {
    for (const client of clients) client.disconnect()
  }
  return { url: `redis+cluster://${nodes.map((node) => `127.0.0.1:${node.port}`).join(',')}`, stop }
}

async function join(clients: readonly Redis[]): Promise<void> {
  for (const [i, client] of clients.entries()) {
    const [from, to] = [i, i + 1].map((n) => Math.round((n * SLOTS) / PRIMARIES)) as [number, number]
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1)
    // Every two of them: to hear of each other from a third takes seconds.
    for (const other of clients.slice(0, i)) await client.cluster('MEET', '127.0.0.1', other.options.port!)
  }
  for (let attempt = 0; attempt < 200; attempt++) {
    const slots = await Promise.all(clients.map((client) => client.cluster('SLOTS')))
    const states = await Promise.all(clients.map((client) => client.cluster('INFO')))
    const isWell = states.every((state) => String(state).includes('cluster_state:ok'))
    if (isWell && slots.every((ranges) => (ranges as unknown[]).length === PRIMARIES)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('The nodes did not become a cluster within 10 s.')
}
