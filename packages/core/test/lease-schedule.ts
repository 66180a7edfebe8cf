import type { Decision } from '../src/decision.js'
import type { Policy, RatePolicy } from '../src/policy/index.js'
import { fixedWindow } from '../src/policy/index.js'
import type { TakeResult } from '../src/store/store.js'
import { findOverAdmission, type Random, randomFrom } from '../src/testing/index.js'
import { type AddLeases, createProcess, createWorld, type Trip, type World } from './lease-world.js'

/** Longer than two windows of one second. */
const DURATION_MS = 2500
const START_MS = 1_800_000_000_000
/** The other limit of takes. It never denies. */
const other = fixedWindow({ limit: 1_000_000, window: '1h', name: 'other' })
/** A limit that always denies: a take with it makes a key busy, and spends nothing. */
const never = fixedWindow({ limit: 1, window: '1h', name: 'never' })

export interface ScheduleOptions {
  addLeases: AddLeases
  /** The policy that the store counts by, for mutants. Default: the policy itself. */
  countAs?: (policy: Policy, operation: string) => Policy
  onWorld?: (world: World) => void
}

export type RunSchedule = (
  seed: number,
  policy: RatePolicy,
  options: ScheduleOptions,
) => Promise<{ problem: string | undefined; admitted: number; leased: number }>

/**
 * Runs a random schedule against the leases: bursts from several processes, with and without leases, slow and lost
 * messages, stopped and crashed processes, clocks that are off by minutes. Returns proof of over-admission, if any.
 */
export const runSchedule: RunSchedule = async (seed, policy, { addLeases, countAs, onWorld }) => {
  const random = randomFrom(seed)
  const world = createWorld(START_MS + random.between(0, 999))
  onWorld?.(world)
  world.memory.check({ policy: never, key: 'n', cost: 1 })
  const isSlow = random.between(1, 3) === 1
  const count = random.between(2, 4)
  const processes = Array.from({ length: count }, (_, i) => {
    const isCold = i > 0 && random.between(1, 4) === 1
    return createProcess(world, isCold ? (store) => store : addLeases, {
      clockAheadMs: random.oneOf([0, 0, 300_000, -300_000]),
      trip: () => randomTrip(random, isSlow),
      ...(countAs === undefined ? {} : { countAs }),
    })
  })
  let leased = 0

  async function check(process: (typeof processes)[number]): Promise<void> {
    const request = { policy, key: 'k', cost: random.oneOf([1, 1, 1, 2]) }
    const isTake = random.between(1, 6) === 1
    const admitted = isTake
      ? await process.take([request, { policy: other, key: 'o', cost: 1 }])
      : await process.check(request)
    if (admitted === undefined) return
    const { result, admission } = admitted
    const decision = isTake ? (result as TakeResult).decisions[0]! : (result as unknown as Decision)
    if (decision.leased) leased++
    if (random.between(1, 20) > 1 || (policy.algorithm === 'token-bucket' && !decision.leased)) return
    // A refund whose reply is lost may have been executed.
    const { timeMs, leasedAtMs } = decision
    const { cost } = request
    admission.cost -= cost
    const refund = Promise.resolve(process.store.refund({ policy, key: 'k', timeMs, cost, leasedAtMs }))
    admission.cost += cost - (await refund.catch(() => cost))
  }

  for (let ms = 0; ms < DURATION_MS; ) {
    const process = random.oneOf(processes)
    const atMs = world.nowMs() + ms
    const dice = random.between(1, 200)
    if (dice === 1) world.at(atMs, () => process.crash())
    else if (dice <= 4) world.at(atMs, () => process.stopFor(random.between(20, 400)))
    else if (dice <= 6) world.at(atMs, () => process.stepClock(random.oneOf([-300_000, 300_000, 80])))
    else {
      const run = random.between(1, 4) === 1 ? () => hoard(process, policy) : check
      const burst = random.oneOf([1, 3, 10, 30])
      for (let i = 0; i < burst; i++) process.here(atMs, () => void run(process))
    }
    ms += random.oneOf([0, 2, 10, 30, 70, 95]) + (random.between(1, 20) === 1 ? random.between(60, 400) : 0)
  }
  await world.runUntil(world.nowMs() + DURATION_MS + 2000)
  const history = processes.flatMap(({ admissions }) => admissions)
  return { problem: findOverAdmission(policy, history), admitted: history.length, leased }
}

/**
 * Runs a schedule that random bursts rarely produce: a process leases half of a full bucket, gets a slow reply, spends
 * nothing, and spends all of it as late as a lease counted from the reply would allow. At the same moment a process without
 * leases takes what the bucket has refilled.
 */
export const runSlowReply: RunSchedule = async (seed, policy, { addLeases, countAs, onWorld }) => {
  const random = randomFrom(seed)
  const world = createWorld(START_MS + random.between(0, 999))
  onWorld?.(world)
  world.memory.check({ policy: never, key: 'n', cost: 1 })
  const trip = { thereMs: 0, backMs: 0 }
  const options = { trip: () => trip, ...(countAs === undefined ? {} : { countAs }) }
  const holder = createProcess(world, addLeases, options)
  const other = createProcess(world, (store) => store, options)
  const maxAgeMs = policy.leaseUs / 1000
  let leased = 0

  const beganMs = world.nowMs()
  for (let ms = 0; ms < maxAgeMs; ms++) holder.here(beganMs + ms, () => hoard(holder, policy))
  // The first lease has ended, and the key is busy.
  await world.runUntil(beganMs + maxAgeMs + 10)
  trip.backMs = random.between(maxAgeMs / 2, maxAgeMs - 5)
  const repliedMs = world.nowMs() + trip.backMs
  hoard(holder, policy)
  await world.runUntil(world.nowMs() + 1)
  trip.backMs = 0
  await world.runUntil(repliedMs + maxAgeMs - random.between(1, 10))
  for (let i = 0; i < policy.limit; i++) {
    void holder.check({ policy, key: 'k', cost: 1 }).then((admitted) => {
      if (admitted?.result.leased) leased++
    })
    void other.check({ policy, key: 'k', cost: 1 })
  }
  await world.runUntil(world.nowMs() + 1000)
  const history = [...holder.admissions, ...other.admissions]
  return { problem: findOverAdmission(policy, history), admitted: history.length, leased }
}

/** Makes a key busy, and returns its units to the lease. */
function hoard(process: ReturnType<typeof createProcess>, policy: RatePolicy): void {
  void process.take([
    { policy, key: 'k', cost: 1 },
    { policy: never, key: 'n', cost: 1 },
  ])
}

function randomTrip(random: Random, isSlow: boolean): Trip {
  const ms = () => (isSlow || random.between(1, 12) === 1 ? random.between(5, 120) : random.between(0, 3))
  const dice = random.between(1, 60)
  return { thereMs: ms(), backMs: ms(), isLost: dice === 1, isReplyLost: dice === 2 }
}
