import { type Decision, fixedWindow, withFallback } from '@tidegate/core'
import { areUp, type RedisCluster, startCluster } from '@tidegate/fixtures/redis-cluster'
import { pause, until } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import { verify } from './src/history/history.js'
import { keysOnNode } from './src/keys-on-node.js'
import { fromDecision, type Made, startLoad } from './src/load.js'
import { nowMs } from './src/wall-clock.js'

/** Long, so that a node without processor time on a busy machine does not count as lost. */
const DEADLINE_MS = 1000
/** Clients read the slot map of the cluster every 5 s. */
const BACK_WITHIN_MS = 6000

const ARGS = [
  ...['--cluster-node-timeout', '500'],
  // Otherwise a cluster serves no slots after the loss of a node.
  ...['--cluster-require-full-coverage', 'no'],
]

let cluster: RedisCluster
beforeEach(async () => {
  cluster = await startCluster(ARGS)
})
afterEach(() => cluster?.stop())

it('a lost node of a cluster: other slots keep exact limits, its own follow the policy; then all are lost', async () => {
  const policy = fixedWindow({ limit: 100, window: '1s', name: 'each' })
  const keys = await Promise.all([0, 1, 2].map((node) => keysOnNode(cluster, node, policy.name, 2)))
  const all = keys.flat()
  const store = withFallback(new RedisStore(cluster.url, { denialCacheMs: 0 }), {
    deadlineMs: DEADLINE_MS,
  })
  const check = (key: string): Promise<Decision> => store.check({ policy, key, cost: 1 })
  for (const key of all) await check(key)
  const load = startLoad({
    perSecond: 2400,
    target: (n) => ({ policy: policy.name, key: all[n % all.length]! }),
    ask: async (_, key) => fromDecision(await check(key)),
  })
  const isOn = (node: number) => (one: Made) => keys[node]!.includes(one.key)
  /** Waits until Redis has answered every check for a while. */
  const untilExact = () =>
    until(
      'exact limits',
      async () => {
        const fromMs = nowMs()
        await pause(2000)
        return load.made.every(({ endMs, degraded }) => endMs < fromMs || degraded === undefined)
      },
      { timeoutMs: BACK_WITHIN_MS + 4000 },
    )
  try {
    await pause(2000)
    const lostMs = nowMs()
    await cluster.nodes[0]!.kill()
    await pause(4000)
    const endOfLossMs = nowMs()
    await cluster.nodes[0]!.restart()
    await until('the cluster to be up', () => areUp(cluster.nodes))
    const backMs = nowMs()
    await untilExact()

    const downMs = nowMs()
    await Promise.all(cluster.nodes.map((node) => node.kill()))
    await pause(4000)
    const endOfDownMs = nowMs()
    await Promise.all(cluster.nodes.map((node) => node.restart()))
    await until('the cluster to be up', () => areUp(cluster.nodes))
    const upMs = nowMs()
    await untilExact()
    await load.stop()

    const between = (fromMs: number, toMs: number) =>
      load.made.filter(({ startMs }) => startMs >= fromMs && startMs < toMs)
    const loss = between(lostMs, downMs)
    const others = loss.filter((one) => !isOn(0)(one))
    const othersLost = others.filter(({ degraded }) => degraded !== undefined)
    const own = between(lostMs, endOfLossMs).filter(isOn(0))
    const ownLost = own.filter(({ degraded }) => degraded === 'open')
    // Excludes checks in flight when all nodes are killed.
    const lost = loss.filter(({ degraded, endMs }) => degraded !== undefined && endMs < downMs)
    const backAfterMs = highest(lost.map(({ endMs }) => endMs)) - backMs
    const down = between(downMs, endOfDownMs)
    const upAfterMs =
      highest(load.made.filter(({ degraded }) => degraded !== undefined).map(({ endMs }) => endMs)) - upMs
    const slowestMs = highest(between(lostMs, Number.POSITIVE_INFINITY).map(({ tookMs }) => tookMs))
    const figures = {
      checks: load.made.length,
      slowestMs,
      others: others.length,
      othersLost: othersLost.length,
      own: own.length,
      ownLost: ownLost.length,
      backAfterMs,
      down: down.length,
      downLost: down.filter(({ degraded }) => degraded === 'open').length,
      upAfterMs,
    }
    report({
      name: 'cluster-loss',
      place: 6,
      fault: 'a cluster’s primary killed; then the whole cluster',
      promise: 'other slots keep exact limits; the lost slots follow the policy',
      seen:
        `${whole(others.length)} checks of other slots, ${othersLost.length} decided without Redis; ` +
        `${whole(ownLost.length)} of ${whole(own.length)} checks of the lost slots without Redis; exact ` +
        `${whole(Math.max(0, backAfterMs))} ms after the cluster was up again, ${whole(Math.max(0, upAfterMs))} ms after ` +
        `the loss of all nodes`,
      figures,
    })
    expect(load.errors).toStrictEqual([])
    expect(othersLost.length).toBe(0)
    // A few checks were answered before the node was gone.
    expect(own.length - ownLost.length).toBeLessThan(own.length / 20)
    expect(figures.down - figures.downLost).toBeLessThan(figures.down / 20)
    expect(slowestMs).toBeLessThanOrEqual(DEADLINE_MS + 50)
    expect(backAfterMs).toBeLessThanOrEqual(BACK_WITHIN_MS)
    expect(upAfterMs).toBeLessThanOrEqual(BACK_WITHIN_MS)
    const lives = [
      { node: 0, resetAtMs: [lostMs, downMs] },
      { node: 1, resetAtMs: [downMs] },
      { node: 2, resetAtMs: [downMs] },
    ]
    for (const { node, resetAtMs } of lives) {
      const { violations } = verify(load.made.filter(isOn(node)), policy, { resetAtMs })
      expect(violations).toStrictEqual([])
    }
    expect(others.filter(({ allowed }) => !allowed).length).toBeGreaterThan(1000)
  } finally {
    await load.stop()
    await store.close()
  }
})
