import { type RedisCluster, startCluster } from '@tidegate/fixtures/redis-cluster'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause, until } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { report, whole } from './src/figures.js'
import { fiveLimits, inTurn, violationsOf } from './src/five-limits.js'
import { fromDecision, startLoad } from './src/load.js'
import { slotMovesOf } from './src/slot-moves.js'
import { nowMs } from './src/wall-clock.js'

const ARGS = ['--cluster-node-timeout', '1000', '--repl-diskless-sync-delay', '0']
const KEYS = 4

let cluster: RedisCluster
let replica: RedisServer
beforeEach(async () => {
  cluster = await startCluster(ARGS)
  replica = await startRedis(['--cluster-enabled', 'yes', ...ARGS])
})
afterEach(async () => {
  await replica?.stop()
  await cluster?.stop()
})

async function isPrimary(server: RedisServer): Promise<boolean> {
  return (await server.ask('INFO replication')).includes('role:master')
}

it('slots that move, a replica that takes over and a killed primary: all limits stay exact', async () => {
  const policies = fiveLimits()
  const names = [...policies.keys()]
  const keys = Array.from({ length: KEYS }, (_, i) => `key-${i}`)
  const moves = slotMovesOf(cluster)
  await moves.addReplica(replica, cluster.nodes[0]!)
  const store = new RedisStore(cluster.url, { denialCacheMs: 0 })
  await store.ready()
  const load = startLoad({
    perSecond: 2400,
    target: inTurn('key', KEYS),
    ask: async (policy, key) =>
      fromDecision(await store.check({ policy: policies.get(policy)!, key, cost: 1 })),
  })
  let moved = 0
  try {
    await pause(1000)
    for (let round = 0; round < 3; round++) {
      for (const name of names) {
        for (const key of keys) {
          await moves.move(`rate_limiter:${name}:${key}`)
          moved++
        }
      }
    }
    await pause(1000)
    const failedMoving = load.errors.length

    await until('the replica to take over', async () => {
      await replica.ask('CLUSTER FAILOVER')
      await pause(200)
      return isPrimary(replica)
    })
    await pause(2000)
    await until('the old primary to become a replica', async () =>
      (await cluster.nodes[0]!.ask('INFO replication')).includes('master_link_status:up'),
    )

    const killedMs = nowMs()
    await replica.kill()
    await until('the other node to take over', () => isPrimary(cluster.nodes[0]!))
    const errorsBefore = load.errors.length
    await pause(3000)
    await load.stop()

    const denied = load.made.filter(({ allowed }) => !allowed).length
    report({
      name: 'cluster-moves',
      place: 21,
      fault: 'slots of a cluster move; a replica takes over; a primary is killed',
      promise: 'limits stay exact; no check is executed twice',
      seen:
        `${whole(load.made.length)} checks, ${whole(denied)} denied; ${moved} slots moved, ${failedMoving} checks ` +
        `failed; no limit exceeded`,
      figures: { checks: load.made.length, denied, moved, failedMoving, failed: load.errors.length },
    })
    expect(failedMoving).toBeLessThan(load.made.length / 100)
    expect(denied).toBeGreaterThan(1000)
    // Without a node that serves the slots, checks fail. Once there is one, they do not.
    expect(load.errors.length - errorsBefore).toBeLessThan(2400)
    // A killed primary may not have replicated its last units.
    expect(violationsOf(load.made, { resetAtMs: [killedMs] })).toStrictEqual([])
  } finally {
    await load.stop()
    await store.close()
  }
})
