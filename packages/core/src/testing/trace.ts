import type { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { type AlgorithmName, definePolicy, type RatePolicy } from '../policy/index.js'
import type { FullStore } from '../store/full-store.js'
import type { Operation } from '../store/operations.js'
import type { Store } from '../store/store.js'
import { CALENDAR_UNITS } from '../units/calendar.js'
import { type Random, randomFrom } from './random.js'
import { START_MS } from './tables.js'

/** One step of a trace: the operation, the key, the numbers of the policy, and the time. */
export type TraceStep = { timeMs: number; key: string; policy: RatePolicy } & (
  | { do: 'check' | 'peek' | 'charge'; cost: number }
  /** Gives back units of the decision of an earlier step, if it was allowed. */
  | { do: 'refund'; ofStep: number; cost: number }
  | { do: 'block'; durationMs: number }
  | { do: 'takeUpTo'; min: number; max: number; divisor: number }
  | { do: 'reset' }
)

/** A random trace and its seed: see `randomTrace`. */
export interface RandomTrace {
  seed: number
  algorithm: AlgorithmName
  steps: TraceStep[]
}

/** Options of `randomTrace`. */
export interface TraceOptions {
  /** The number of steps. */
  length: number
  /** Whether the clock can step back, a little or far. Default: false. */
  clockStepsBack?: boolean
  /** Whether the policy's numbers can change between steps. Default: false. */
  numbersChange?: boolean
  /** Adds steps of these operations. `block` also adds `blockFor` to some policies. Default: none. */
  operations?: readonly Operation[]
}

/**
 * Creates a reproducible random trace: bursts and pauses, steps exactly when windows begin and units expire, refunds,
 * resets. Run it on two stores and compare the results of `runTrace`. With `clockStepsBack` or `numbersChange`, results
 * depend on whether a store has deleted expired states, so both stores must keep them.
 */
export function randomTrace(seed: number, algorithm: AlgorithmName, options: TraceOptions): RandomTrace {
  const { length, clockStepsBack = false, numbersChange = false, operations = [] } = options
  const random = randomFrom(seed)
  const mayBlock = operations.includes('block')
  const mayTakeUpTo = operations.includes('takeUpTo') && algorithm !== 'leaky-bucket'
  const policies = Array.from({ length: random.between(2, 3) }, () =>
    randomPolicy(random, algorithm, mayBlock),
  )
  const keys = ['a', 'b', 'user:ü', '{tag}']
  const steps: TraceStep[] = []
  let policy = policies[0]!
  let timeUs = START_MS * 1000 + random.between(0, 10_000_000)
  for (let i = 0; i < length; i++) {
    if (random.between(1, 12) === 1 && numbersChange) policy = random.oneOf(policies)
    const move = randomMove(random, policy, timeUs)
    timeUs = Math.max(1, timeUs + (clockStepsBack ? move : Math.max(0, move)))
    const common = { timeMs: timeUs / 1000, key: random.oneOf(keys), policy }
    const cost = random.between(1, random.oneOf([1, Math.min(3, policy.limit), policy.limit]))
    const dice = random.between(1, 20)
    if (operations.includes('charge') && random.between(1, 12) === 1) {
      steps.push({ ...common, do: 'charge', cost: randomCharge(random, policy) })
    } else if (mayBlock && random.between(1, 30) === 1) {
      steps.push({ ...common, do: 'block', durationMs: random.oneOf([1, 7, 1000, 60_000, 3_600_000]) })
    } else if (mayTakeUpTo && random.between(1, 6) === 1) {
      const max = random.between(cost, policy.limit)
      steps.push({ ...common, do: 'takeUpTo', min: cost, max, divisor: random.oneOf([1, 2, 8]) })
    } else if (dice <= 15) steps.push({ ...common, do: 'check', cost })
    else if (dice <= 17) steps.push({ ...common, do: 'peek', cost })
    else if (dice <= 19 && i > 0) {
      // Mostly the latest decisions: older ones usually no longer count.
      const ofStep = Math.max(0, i - random.between(1, random.oneOf([2, 20])))
      steps.push({ ...common, do: 'refund', ofStep, key: steps[ofStep]!.key, cost })
    } else steps.push({ ...common, do: 'reset' })
  }
  return { seed, algorithm, steps }
}

/** Runs a trace on a store with this clock. Returns one result per step. */
export async function runTrace(
  { steps }: RandomTrace,
  store: Store,
  clock: ManualClock,
): Promise<(Decision | number | undefined)[]> {
  const answers: (Decision | number | undefined)[] = []
  for (const step of steps) {
    clock.set(step.timeMs)
    const { policy, key } = step
    if (step.do === 'check') answers.push(await store.check({ policy, key, cost: step.cost }))
    else if (step.do === 'peek') answers.push(await store.peek({ policy, key, cost: step.cost }))
    else if (step.do === 'charge')
      answers.push(await fullStore(store).charge({ policy, key, cost: step.cost }))
    else if (step.do === 'block') {
      await fullStore(store).block({ policy, key, durationMs: step.durationMs })
      answers.push(undefined)
    } else if (step.do === 'takeUpTo') {
      const { min, max, divisor } = step
      const { decision, ...taken } = await fullStore(store).takeUpTo({ policy, key, min, max, divisor })
      answers.push({ ...decision, ...taken })
    } else if (step.do === 'refund') {
      const decision = answers[step.ofStep]
      const kind = steps[step.ofStep]!.do
      const wasTaken = kind !== 'peek' && typeof decision === 'object' && decision.allowed
      const cost = Math.min(step.cost, policy.limit, wasTaken ? decision.cost : 0)
      answers.push(
        cost > 0 ? await store.refund({ policy, key, timeMs: (decision as Decision).timeMs, cost }) : 0,
      )
    } else {
      await store.reset({ policy, key })
      answers.push(undefined)
    }
  }
  return answers
}

/** The store with all operations of the trace. */
function fullStore(store: Store): FullStore {
  return store as FullStore
}

function randomCharge(random: Random, { limit, algorithm }: RatePolicy): number {
  const max = algorithm === 'fixed-window' ? 10 ** 15 - 1 : 1_000_000_000
  return Math.min(max, random.oneOf([1, random.between(1, limit), 2 * limit, 10 * limit, max]))
}

export function randomPolicy(random: Random, algorithm: AlgorithmName, mayBlock: boolean): RatePolicy {
  const limit = random.oneOf([
    1,
    random.between(2, 10),
    random.between(11, 1000),
    random.between(1001, 100_000),
  ])
  const blockFor =
    mayBlock && random.between(1, 3) === 1 ? { blockFor: `${random.oneOf([5, 20_000])}ms` } : {}
  const common = { algorithm, name: 'traced', ...blockFor }
  if (algorithm === 'token-bucket' || algorithm === 'leaky-bucket') {
    const rate = `${random.between(1, 1000)}/${random.oneOf([1, 7, 333, 1000, 60_000, 3_600_000])}ms`
    const rateField = algorithm === 'token-bucket' ? 'refillRate' : 'leakRate'
    return definePolicy({ ...common, capacity: limit, [rateField]: rate }) as RatePolicy
  }
  const countDenied = random.between(1, 4) === 1
  if (algorithm === 'fixed-window' && random.between(1, 3) === 1) {
    const [window, timeZone] = [random.oneOf(CALENDAR_UNITS), random.oneOf(TIME_ZONES)]
    return definePolicy({ ...common, limit, window, timeZone, countDenied }) as RatePolicy
  }
  const ms = random.oneOf([1, 10, random.between(11, 999), 1000, 60_000, 86_400_000, 366 * 86_400_000])
  const start = algorithm === 'fixed-window' ? { start: random.oneOf(['epoch', 'first-request']) } : {}
  const sized = { limit: random.oneOf([limit, limit, LARGEST[algorithm]]), window: `${ms}ms` }
  return definePolicy({ ...common, ...sized, ...start, countDenied }) as RatePolicy
}

/** Products of large limits and large windows exceed 2^53. */
const LARGEST = {
  'fixed-window': 10 ** 15 - 1,
  'sliding-window-log': 100_000,
  'sliding-window-counter': 1_000_000_000,
}
/** Time zones on both sides of UTC, with and without daylight saving time, including one of half an hour. */
const TIME_ZONES = ['UTC', 'Asia/Seoul', 'America/New_York', 'Australia/Lord_Howe']

/** How far the time moves before a step, in microseconds. */
export function randomMove(random: Random, policy: RatePolicy, nowUs: number): number {
  const span = 'windowUs' in policy ? policy.windowUs : Math.max(1, policy.spanUs)
  const dice = random.between(1, 40)
  if (dice <= 14) return 0
  if (dice <= 22) return random.between(1, 3)
  if (dice <= 28) return random.between(1, Math.max(1, Math.floor(span / 3)))
  // To the edge of a window, or one microsecond to either side.
  if (dice <= 32) return toNextWindow(policy, span, nowUs) + random.between(-1, 1)
  if (dice <= 35) return span + random.between(-1, 1)
  if (dice <= 36) return random.between(span, 3 * span)
  if (dice <= 38) return -random.between(1, span)
  return -random.between(span, 3 * span)
}

function toNextWindow(policy: RatePolicy, span: number, nowUs: number): number {
  const calendar = policy.algorithm === 'fixed-window' ? policy.calendar : undefined
  return calendar === undefined ? span - (nowUs % span) : calendar.windowAt(nowUs).end - nowUs
}
