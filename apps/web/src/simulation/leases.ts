import { type LeasesOptions, MemoryStore, type RatePolicy, withLeases } from '@tidegate/core'
import { TEST_ENVIRONMENT } from '@tidegate/core/testing'
import { createManualTime } from './manual-time.js'
import { createSteps, type Steps } from './steps.js'

/** The result of several processes with leases. Times are milliseconds on the axis, ascending. */
export interface LeaseRun {
  readonly atMs: readonly number[]
  readonly admittedMs: readonly number[]
  /** One time for each call to the store. */
  readonly callsMs: readonly number[]
  /** Leased units that are not spent yet, of each process. */
  readonly inHand: readonly Steps[]
  /** Units that the store has left. */
  readonly left: Steps
}

/** How often the units in the store are recorded between requests, because they change with time. */
const SAMPLES = 240
const KEY = 'shared'

/**
 * Runs `withLeases` of the core in several processes that share one store. The processes get the requests in turn; calls
 * to the store take no time. `originMs` is the start of the axis.
 */
export async function simulateLeases(
  policy: RatePolicy,
  { originMs, spanMs, arrivals }: { originMs: number; spanMs: number; arrivals: readonly number[] },
): Promise<LeaseRun> {
  const time = createManualTime(originMs)
  const store = new MemoryStore({ clock: time.clock })
  const environment = { [TEST_ENVIRONMENT]: time } as LeasesOptions
  const processes = Array.from({ length: policy.instances }, () => withLeases(store, environment))
  const inHand = processes.map(createSteps)
  const left = createSteps()
  const callsMs: number[] = []
  const admittedMs: number[] = []

  const record = () => {
    // Requests are at whole microseconds.
    const atMs = Math.round((time.clock.nowMs() - originMs) * 1000) / 1000
    const counts = processes.map(({ leases }) => leases)
    const calls = counts.reduce((sum, { storeCalls }) => sum + storeCalls, 0)
    while (callsMs.length < calls) callsMs.push(atMs)
    for (const [i, { unitsInHand }] of counts.entries()) inHand[i]!.add(atMs, unitsInHand)
    left.add(atMs, store.peek({ policy, key: KEY, cost: 1 }).remaining)
  }
  let sampled = 0
  const advanceTo = async (atMs: number) => {
    for (; (sampled * spanMs) / SAMPLES <= atMs; sampled++) {
      await time.advanceTo(originMs + (sampled * spanMs) / SAMPLES, record)
      record()
    }
    await time.advanceTo(originMs + atMs, record)
  }

  for (const [i, atMs] of arrivals.entries()) {
    await advanceTo(atMs)
    const { allowed } = await processes[i % processes.length]!.check({ policy, key: KEY, cost: 1 })
    if (allowed) admittedMs.push(atMs)
    record()
  }
  await advanceTo(spanMs)
  return { atMs: arrivals, admittedMs, callsMs, inHand, left }
}
