import type { ManualClock } from '../clock.js'
import { TidegateError } from '../errors.js'
import type { AlgorithmName, RatePolicy } from '../policy/index.js'
import type { FullStore } from '../store/full-store.js'
import { randomFrom } from './random.js'
import { START_MS } from './tables.js'
import { randomMove, randomPolicy } from './trace.js'

/** One step of a trace with reservations. */
export type ReservationStep = { timeMs: number; key: string; policy: RatePolicy } & (
  | { do: 'check' | 'peek' | 'charge'; cost: number }
  /** Gives back part of an earlier check. */
  | { do: 'refund'; decidedMs: number; cost: number }
  | { do: 'block'; durationMs: number }
  | { do: 'reset' }
  | { do: 'reserve'; id: string; cost: number; ttlMs: number; maxOpen: number }
  | { do: 'settle'; id: string; actual: number }
)

/**
 * Creates a reproducible random trace of reservations: checks, charges, refunds, blocks, resets, other reservations,
 * repeated and unknown ids, lapses, clocks that step back and numbers that change. Both compared stores must keep expired
 * states.
 */
export function randomReservationTrace(
  seed: number,
  algorithm: AlgorithmName,
  length: number,
): ReservationStep[] {
  const random = randomFrom(seed)
  const policies = Array.from({ length: random.between(1, 3) }, () => randomPolicy(random, algorithm, false))
  const changes = random.oneOf([true, false])
  const stepsBack = random.oneOf([true, false])
  const keys = ['a', 'user:ü']
  const steps: ReservationStep[] = []
  const ids = Array.from({ length: random.between(3, 12) }, (_, i) => `id-${i}`)
  const times = [START_MS]
  let policy = policies[0]!
  let timeUs = START_MS * 1000 + random.between(0, 10_000_000)
  for (let i = 0; i < length; i++) {
    if (changes && random.between(1, 20) === 1) policy = random.oneOf(policies)
    const move = random.oneOf([randomMove(random, policy, timeUs), 0, random.between(0, 2_000_000)])
    timeUs = Math.max(1, timeUs + (stepsBack ? move : Math.max(0, move)))
    const common = { timeMs: timeUs / 1000, key: random.oneOf(keys), policy }
    const cost = random.between(1, random.oneOf([1, Math.min(3, policy.limit), policy.limit]))
    const id = random.between(1, 4) === 1 ? `new-${i}` : random.oneOf(ids)
    const dice = random.between(1, 40)
    if (dice <= 8) {
      steps.push({ ...common, do: 'check', cost })
      times.push(common.timeMs)
    } else if (dice <= 10) steps.push({ ...common, do: 'peek', cost })
    else if (dice <= 13) steps.push({ ...common, do: 'charge', cost: random.oneOf([cost, 2 * cost]) })
    else if (dice <= 15)
      steps.push({ ...common, do: 'refund', decidedMs: random.oneOf(times.slice(-6)), cost })
    else if (dice === 16 && !stepsBack)
      steps.push({ ...common, do: 'block', durationMs: random.between(1, 5000) })
    else if (dice === 17) steps.push({ ...common, do: 'reset' })
    else if (dice <= 29) {
      const ttlMs = random.oneOf([1000, random.between(1000, 60_000), 86_400_000])
      const maxOpen = random.oneOf([2, 1000])
      steps.push({
        ...common,
        do: 'reserve',
        id,
        cost: random.oneOf([cost, cost, cost + policy.limit]),
        ttlMs,
        maxOpen,
      })
    } else {
      const actual = random.oneOf([0, random.between(0, cost), cost, cost + random.between(0, policy.limit)])
      steps.push({ ...common, do: 'settle', id, actual })
    }
  }
  return steps
}

/** Runs a trace on a store with this clock. Returns one result per step; for an error, its code. */
export async function runReservationTrace(
  steps: readonly ReservationStep[],
  store: FullStore,
  clock: ManualClock,
): Promise<unknown[]> {
  const answers: unknown[] = []
  for (const step of steps) {
    clock.set(step.timeMs)
    try {
      answers.push(await run(step, store))
    } catch (error) {
      answers.push(error instanceof TidegateError ? error.code : error)
    }
  }
  return answers
}

async function run(step: ReservationStep, store: FullStore): Promise<unknown> {
  const { policy, key } = step
  switch (step.do) {
    case 'check':
    case 'peek':
    case 'charge':
      return store[step.do]({ policy, key, cost: step.cost })
    case 'refund':
      return store.refund({ policy, key, timeMs: step.decidedMs, cost: step.cost })
    case 'block':
      return store.block({ policy, key, durationMs: step.durationMs })
    case 'reset':
      return store.reset({ policy, key })
    case 'reserve': {
      const { id, cost, ttlMs, maxOpen } = step
      const result = await store.reserve([{ policy, key, cost }], { id, ttl: ttlMs, maxOpen })
      // Without the functions of the result.
      const { allowed, decisions, retryAfterMs, repeated } = result
      return { id: result.id, allowed, decisions, retryAfterMs, repeated }
    }
    case 'settle':
      return store.settle([{ policy, key }], step.id, [step.actual])
  }
}
