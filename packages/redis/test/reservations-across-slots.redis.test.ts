import { fixedWindow, type TakeRequest, tokenBucket } from '@tidegate/core'
import { pause, until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { keyOn, type RedisCluster, startCluster } from './redis-cluster.js'

const LIMIT_A = 60
const LIMIT_B = 1000
/** The estimate of each reserve: fewer than 20 fit. */
const COST_B = 52

let cluster: RedisCluster
let stores: RedisStore[]
let a: TakeRequest
let b: TakeRequest
let rounds = 0

beforeAll(async () => {
  // No replica is promoted: a promotion can lose charges, which is not the subject here.
  cluster = await startCluster({ nodeTimeoutMs: 60_000 })
})
afterAll(() => cluster?.stop())
beforeEach(() => {
  stores = [new RedisStore(cluster.url), new RedisStore(cluster.url, { denialCacheMs: 0 })]
  rounds++
  const requests = fixedWindow({ limit: LIMIT_A, window: '366d', name: `requests-${rounds}` })
  const tokens = tokenBucket({ capacity: LIMIT_B, refillRate: '1/100d', name: `tokens-${rounds}` })
  a = { policy: requests, key: keyOn(0, requests), cost: 1 }
  b = { policy: tokens, key: keyOn(1, tokens), cost: COST_B }
})
afterEach(async () => {
  for (const store of stores) await store.close()
})

async function left(): Promise<number[]> {
  const looks = [a, b].map((request) => stores[1]!.peek({ ...request, cost: 1 }))
  return (await Promise.all(looks)).map(({ remaining }) => remaining)
}

it('limits on several nodes are reserved together or not at all, and settled separately', async () => {
  const [store] = stores as [RedisStore, RedisStore]
  const reservation = await store.reserve([a, b], { id: 'a' })
  expect(reservation.decisions.map((decision) => decision?.reserved)).toStrictEqual([1, COST_B])
  expect(await left()).toStrictEqual([59, 948])
  expect(await reservation.settle([1, 2])).toStrictEqual([
    { settled: true, refunded: 0, charged: 0, overBy: 0 },
    { settled: true, refunded: 50, charged: 0, overBy: 0 },
  ])
  await store.check({ ...b, cost: 990 })
  const denied = await store.reserve([a, b], { id: 'b' })
  expect(denied.allowed).toBe(false)
  expect(denied.decisions.map((decision) => [decision?.allowed, decision?.reserved])).toStrictEqual([
    [true, 0],
    [false, 0],
  ])
  expect(await left()).toStrictEqual([59, 8])
})

it('a repeated reserve returns the first decision, also if no more units fit', async () => {
  const [store, other] = stores as [RedisStore, RedisStore]
  const first = await store.reserve([a, { ...b, cost: LIMIT_B }], { id: 'a' })
  const again = await other.reserve([a, { ...b, cost: LIMIT_B }], { id: 'a' })
  expect(again).toMatchObject({ allowed: true, repeated: true })
  expect(again.decisions.map((decision) => decision?.timeMs)).toStrictEqual(
    first.decisions.map((decision) => decision?.timeMs),
  )
  expect(await left()).toStrictEqual([59, 0])
  await expect(store.reserve([a, b], { id: 'a' })).rejects.toMatchObject({ code: 'RESERVATION_ID_USED' })
  expect(await left()).toStrictEqual([59, 0])
})

it('parallel reserves by two stores admit no more than either limit, and cancel partial reservations', async () => {
  const held: { id: string; store: RedisStore }[] = []
  const lost: string[] = []
  for (let round = 0; round < 6; round++) {
    await Promise.all(
      Array.from({ length: 13 }, async (_, i) => {
        const store = stores[i % 2]!
        const id = `${round}-${i}`
        const { allowed } = await store.reserve(i % 3 === 0 ? [a, b] : [b, a], { id })
        if (allowed) held.push({ id, store })
        else lost.push(id)
      }),
    )
  }
  expect(held.length).toBeLessThanOrEqual(19)
  expect(await left()).toStrictEqual([LIMIT_A - held.length, LIMIT_B - held.length * COST_B])
  for (const { id, store } of held) await store.settle([a, b], id, [0, 0])
  expect(await left()).toStrictEqual([LIMIT_A, LIMIT_B])
  // A reserve that lost the race has no effect, so its id is free.
  for (const id of lost.slice(0, 10)) {
    expect((await stores[1]!.reserve([a, b], { id })).allowed).toBe(true)
  }
})

it('a node that stops for a while loses no units, and a failed reserve is repeated by its id', async () => {
  const [store] = stores as [RedisStore, RedisStore]
  await store.reserve([a, b], { id: 'warm' })
  const node = cluster.nodes[1]!.process
  node.kill('SIGSTOP')
  const reserving = store.reserve([a, b], { id: 'a' }).catch((error) => error)
  await pause(300)
  node.kill('SIGCONT')
  const result = await reserving
  // The id is charged once, even if the first reserve has failed.
  if (!result.allowed)
    await until('the repeated reserve', async () => (await store.reserve([a, b], { id: 'a' })).allowed)
  expect(await left()).toStrictEqual([58, LIMIT_B - 2 * COST_B])
  expect(await store.settle([a, b], 'a', [0, 0])).toMatchObject([{ settled: true }, { settled: true }])
  expect(await left()).toStrictEqual([59, LIMIT_B - COST_B])
})

it('a settlement is repeated until every node has responded', async () => {
  const [store] = stores as [RedisStore, RedisStore]
  await store.reserve([a, b], { id: 'a' })
  const node = cluster.nodes[1]!.process
  node.kill('SIGSTOP')
  const settling = store.settle([a, b], 'a', [0, 0])
  await pause(300)
  node.kill('SIGCONT')
  expect(await settling).toMatchObject([{ settled: true }, {}])
  expect(await left()).toStrictEqual([LIMIT_A, LIMIT_B])
})
