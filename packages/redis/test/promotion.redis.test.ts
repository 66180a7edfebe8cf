import { fixedWindow, type Policy, type TakeRequest } from '@tidegate/core'
import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterEach, describe, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { clientOf, isPrimary } from './redis-clients.js'
import { keyOn, startCluster } from './redis-cluster.js'
import { startSentinels } from './redis-sentinel.js'

// The units that a promotion loses, without other effects of a failover: no call is in flight when the primary is
// killed, and it is known exactly which units its replicas have.

const LIMIT = 1000
const BEFORE = 400
const AFTER = 250

interface Topology {
  url: string
  primary: RedisServer
  replicas: RedisServer[]
  keyOf: (policy: Policy) => string
  stop(): Promise<void>
}

async function sentinel(): Promise<Topology> {
  const { url, nodes, stop } = await startSentinels()
  const [primary, ...replicas] = nodes as [RedisServer, ...RedisServer[]]
  return { url, primary, replicas, keyOf: () => 'k', stop }
}

async function cluster(): Promise<Topology> {
  const { url, nodes, stop } = await startCluster()
  return { url, primary: nodes[0]!, replicas: [nodes[3]!], keyOf: (policy) => keyOn(0, policy), stop }
}

async function take(store: RedisStore, request: TakeRequest, units: number): Promise<void> {
  for (let taken = 0; taken < units; taken++) expect((await store.check(request)).allowed).toBe(true)
}

/** Takes until nothing remains. A check that failed while the store reconnects may have taken a unit. */
async function takeTheRest(store: RedisStore, request: TakeRequest) {
  const rest = { taken: 0, failed: 0 }
  while (rest.failed < 1000) {
    const decision = await store.check(request).catch(() => undefined)
    if (decision === undefined) {
      rest.failed++
      await new Promise((resolve) => setTimeout(resolve, 20))
    } else if (decision.allowed) rest.taken++
    else return rest
  }
  throw new Error('the store did not reconnect')
}

/**
 * Disconnects the replicas, like a network partition: later writes of the primary never reach them. They are stopped
 * before their connections are closed, because they would otherwise connect again at once. All earlier writes must have
 * arrived: a stopped replica still reads those when it continues.
 */
async function cutOff(replicas: readonly RedisServer[], primary: RedisServer): Promise<void> {
  for (const replica of replicas) replica.process.kill('SIGSTOP')
  const client = clientOf(primary)
  await client.call('CLIENT', 'KILL', 'TYPE', 'replica')
  await until('the primary to have no replica', async () =>
    (await client.info('replication')).includes('connected_slaves:0'),
  )
  client.disconnect()
}

async function untilInSync(replicas: readonly RedisServer[], primary: RedisServer): Promise<void> {
  const client = clientOf(primary)
  expect(await client.wait(replicas.length, 5000)).toBe(replicas.length)
  client.disconnect()
}

describe.each([
  ['Sentinel', sentinel],
  ['Cluster', cluster],
] as const)('%s', (title, start) => {
  let topology: Topology | undefined
  afterEach(() => topology?.stop())

  it.each([
    ['intact', false],
    ['cut', true],
  ])(
    'a promotion while replication is %s loses at most the units written after the cut',
    async (how, isCut) => {
      topology = await start()
      const { url, primary, replicas, keyOf } = topology
      const policy = fixedWindow({ limit: LIMIT, window: '366d', name: 'promoted' })
      const request = { policy, key: keyOf(policy), cost: 1 }
      const store = new RedisStore(url)
      try {
        await take(store, request, BEFORE)
        await untilInSync(replicas, primary)
        if (isCut) await cutOff(replicas, primary)
        await take(store, request, AFTER)
        if (!isCut) await untilInSync(replicas, primary)
        const written = isCut ? AFTER : 0
        primary.process.kill('SIGKILL')
        for (const replica of replicas) replica.process.kill('SIGCONT')
        await until('a promotion', async () => (await Promise.all(replicas.map(isPrimary))).some(Boolean))
        const rest = await takeTheRest(store, request)
        const tooMany = BEFORE + AFTER + rest.taken - LIMIT
        console.log(
          `${title}, replication ${how}: ${written} units written after the cut, ${tooMany} admitted ` +
            `above the limit of ${LIMIT} after the promotion`,
        )
        expect(tooMany).toBeLessThanOrEqual(written)
        // The units that the replica had are still counted, once.
        expect(tooMany).toBeGreaterThanOrEqual(-rest.failed)
      } finally {
        await store.close()
      }
    },
  )
})
