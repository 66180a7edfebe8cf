import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type RunSchedule,
  runSchedule,
  runSlowReply,
  type ScheduleOptions,
} from '../../test/lease-schedule.js'
import type { AddLeases, World } from '../../test/lease-world.js'
import {
  definePolicy,
  fixedWindow,
  type Policy,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'
import type { LeasesOptions } from './index.js'
import type { Lease } from './lease.js'

// Random schedules in simulated time, verified by when each admitted check began and ended. The mutants at the end are
// leases that break one rule each, and the same schedules must detect all of them.

const lease = { maxAge: '100ms', share: 1 } as const
const fixed = fixedWindow({ limit: 60, window: '1s', name: 'fixed', lease })
const counter = slidingWindowCounter({ limit: 60, window: '1s', name: 'counter', lease })
const log = slidingWindowLog({ limit: 60, window: '1s', name: 'log', lease })
const bucket = tokenBucket({ capacity: 60, refillRate: 50, name: 'bucket', lease })
/** Leases outlive the time in which this one refills. */
const fastBucket = tokenBucket({ capacity: 20, refillRate: 100, name: 'fast-bucket', lease })
const EACH: readonly RatePolicy[] = [fixed, counter, log, bucket, fastBucket]

/** Seeds that have detected a mutant. They are tried first. */
const KEPT: readonly number[] = [5, 11, 25, 42, 46, 58, 109, 112, 119, 370, 473, 649, 683, 953, 999]
const FRESH = 40

/** The time at which the mutant of the reply reads the clock. */
let currentWorld: World

async function load(mutation?: object): Promise<Pick<ScheduleOptions, 'addLeases' | 'onWorld'>> {
  vi.resetModules()
  if (mutation !== undefined) {
    vi.doMock('./lease.js', async (original) => ({ ...(await original<object>()), ...mutation }))
  }
  const { withLeases } = await import('./index.js')
  const { TEST_ENVIRONMENT } = await import('../resilience/index.js')
  const addLeases: AddLeases = (store, time) =>
    withLeases(store, { [TEST_ENVIRONMENT]: time } as LeasesOptions)
  return {
    addLeases,
    onWorld: (world) => {
      currentWorld = world
    },
  }
}

afterEach(() => {
  vi.doUnmock('./lease.js')
})

function randomSeeds(count: number): number[] {
  const first = Math.floor(Math.random() * 2 ** 30)
  return Array.from({ length: count }, (_, i) => first + i)
}

describe('random schedules never admit more than without leases', () => {
  it.each(EACH)(`$algorithm: ${KEPT.length} kept schedules and ${FRESH} new ones`, async (policy) => {
    const options = await load()
    let [admitted, leased] = [0, 0]
    for (const seed of [...KEPT, ...randomSeeds(FRESH)]) {
      const result = await runSchedule(seed, policy, options)
      expect({ seed, problem: result.problem }).toStrictEqual({ seed, problem: undefined })
      admitted += result.admitted
      leased += result.leased
    }
    // The test proves something only if enough units were admitted from leases.
    expect(admitted).toBeGreaterThan(40 * (KEPT.length + FRESH))
    expect(leased / admitted).toBeGreaterThan(0.1)
  })

  it.each(EACH)(`$name: ${FRESH} schedules with a slow reply`, async (policy) => {
    const options = await load()
    for (const seed of randomSeeds(FRESH)) {
      const { problem, admitted } = await runSlowReply(seed, policy, options)
      expect({ seed, problem }).toStrictEqual({ seed, problem: undefined })
      expect(admitted).toBeGreaterThan(0)
    }
  })
})

/** The same policy without a lease. */
function unleased(policy: Policy): Policy {
  const { lease: _, ...options } = policy
  return definePolicy(options)
}

const withoutWindowEnd = {
  leaseOf: (
    { policy, key, generation }: Lease,
    { taken, decision }: { taken: number; decision: Lease['decision'] },
    sent: Lease['sent'],
    own: number,
  ): Lease => ({
    ...{ policy, key, generation, sent, decision, units: taken, unitsLeft: taken - own },
    lifeMs: policy.leaseUs / 1000,
  }),
}

const fromReply = {
  leaseOf: (
    { policy, key, generation }: Lease,
    {
      taken,
      decision,
      windowEndMs,
    }: { taken: number; decision: Lease['decision']; windowEndMs: number | undefined },
    sent: Lease['sent'],
    own: number,
  ): Lease => {
    const nowMs = currentWorld.nowMs()
    const lateMs = nowMs + 777 - sent.ms
    return {
      ...{ policy, key, generation, decision, units: taken, unitsLeft: taken - own },
      sent: { ms: nowMs + 777, wallMs: sent.wallMs + lateMs },
      lifeMs: Math.min(policy.leaseUs / 1000, (windowEndMs ?? Infinity) - decision.timeMs),
    }
  },
}

interface Mutant {
  title: string
  policies: readonly RatePolicy[]
  rules?: object
  countAs?: (policy: Policy, operation: string) => Policy
  /** The schedules that detect the mutant. Default: `runSchedule`. */
  run?: RunSchedule
}

const MUTANTS: readonly Mutant[] = [
  {
    title: "a lease that lives beyond the window's end",
    policies: [fixed, counter],
    rules: withoutWindowEnd,
  },
  { title: 'a lease that counts its life from the reply', policies: [fixed, counter, log], rules: fromReply },
  {
    title: 'a lease that counts its life from the reply',
    policies: [bucket],
    rules: fromReply,
    run: runSlowReply,
  },
  { title: 'a lease of a log whose units count for the window only', policies: [log], countAs: unleased },
  { title: 'a lease of a bucket with its whole capacity', policies: [fastBucket], countAs: unleased },
  {
    title: 'a lease of a bucket that is smaller for leases only',
    policies: [fastBucket],
    countAs: (policy, operation) => (operation === 'takeUpTo' ? policy : unleased(policy)),
  },
  {
    title: 'a lease of a bucket that gets units back',
    policies: [bucket],
    rules: { isGivenBack: () => true },
  },
]

describe('detects an incorrect implementation of leases', () => {
  it.each(
    MUTANTS.flatMap((mutant) => mutant.policies.map((policy) => ({ ...mutant, policy, name: policy.name }))),
  )('$name: $title', async ({ rules, countAs, policy, run = runSchedule }) => {
    const options = { ...(await load(rules)), ...(countAs && { countAs }) }
    let problem: string | undefined
    for (const seed of [...KEPT, ...randomSeeds(100)]) {
      ;({ problem } = await run(seed, policy, options))
      if (problem !== undefined) break
    }
    expect(problem).toBeDefined()
  })
})
