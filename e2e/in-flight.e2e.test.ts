import { concurrency } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { RedisStore } from '@tidegate/redis'
import { commandsOf } from '@tidegate/redis/store-commands'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { report } from './src/figures.js'
import { endedUnits, mostAtOnce } from './src/processes/running-work.mjs'
import { type SlotWorker, type SlotWorkerOptions, startSlotWorker } from './src/processes/slot-worker.js'

const LIMIT = 3
const TTL_MS = 1500
/** A pause that is longer than the ttl of a slot. */
const STOP_MS = 2000
const CLOCKS_MS = [0, 300_000, -300_000, 3_600_000]

const numbers = { limit: LIMIT, ttl: `${TTL_MS}ms`, name: 'jobs', onStoreFailure: 'closed' } as const
const policy = concurrency(numbers)

let redis: RedisServer
let store: RedisStore
let workers: SlotWorker[]
beforeEach(async () => {
  redis = await startRedis()
  store = new RedisStore(redis.url)
  workers = []
})
afterEach(async () => {
  for (const { process } of workers) process.kill('SIGCONT')
  await Promise.all(workers.map((worker) => worker.kill()))
  await store?.close()
  await redis?.stop()
})

async function start(options: Partial<SlotWorkerOptions> = {}): Promise<SlotWorker> {
  const worker = await startSlotWorker(redis.url, {
    policy: { algorithm: 'concurrency', ...numbers },
    workers: 3,
    ...options,
  })
  workers.push(worker)
  return worker
}

it('four processes that are killed and stopped, with clocks that differ, never run more than the limit', async () => {
  let places = await Promise.all(CLOCKS_MS.map((skewMs) => start({ skewMs })))
  let [kills, stops] = [0, 0]
  for (let round = 0; round < 5; round++) {
    await pause(700)
    // One process is stopped for longer than the ttl, while another is killed and replaced.
    const stopped = places[round % 4]!
    stopped.process.kill('SIGSTOP')
    stops++
    const victim = (round + 1 + (round % 3)) % 4
    await pause(400)
    await places[victim]!.kill()
    kills++
    places = await Promise.all(
      places.map((place, i) => (i === victim ? start({ skewMs: CLOCKS_MS[i]! }) : place)),
    )
    await pause(STOP_MS - 400)
    stopped.process.kill('SIGCONT')
  }
  await pause(700)
  await Promise.all(places.map((place) => place.finish()))
  const { count, units } = await mostAtOnce(commandsOf(store))
  const { done, lost } = await endedUnits(commandsOf(store))
  report({
    name: 'in-flight',
    place: 20,
    fault: `${kills} × SIGKILL and ${stops} × SIGSTOP for ${STOP_MS} ms among four processes that hold slots (ttl ${TTL_MS} ms), clocks up to an hour apart`,
    promise: 'never more units of work at once than the limit, counted by the work itself',
    seen: `at most ${count} at once with a limit of ${LIMIT}; ${done} units done, ${lost} ended because their slot was lost`,
    figures: { limit: LIMIT, mostAtOnce: count, units: units ?? '', kills, stops, done, lost },
  })
  expect(count).toBe(LIMIT)
  expect(done).toBeGreaterThan(50)
  // The faults hit processes that held slots.
  expect(lost).toBeGreaterThan(0)
  // The slots of the killed processes are free again after their ttl.
  await pause(TTL_MS)
  const free = await store.peek({ policy, key: 'job', cost: 1 })
  expect(free.remaining).toBe(LIMIT)
})

it('detects work that ignores the loss of its slot', async () => {
  const deaf = await start({ heedsSignal: false })
  await pause(500)
  deaf.process.kill('SIGSTOP')
  const other = await start()
  await pause(STOP_MS)
  deaf.process.kill('SIGCONT')
  await pause(500)
  expect((await mostAtOnce(commandsOf(store))).count).toBeGreaterThan(LIMIT)
  await Promise.all([deaf, other].map((worker) => worker.kill()))
})
