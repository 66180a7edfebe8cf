import type { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { type AlgorithmName, definePolicy, type Policy } from '../policy.js'
import type { Store } from '../store/store.js'
import { type Random, randomFrom } from './random.js'
import { START_MS } from './tables.js'

/** One step of a trace: what is done, to whom, by which numbers of the policy, at what time. */
export type TraceStep = { timeMs: number; key: string; policy: Policy } & (
  | { do: 'check' | 'peek'; cost: number }
  /** Gives back part of the decision of an earlier step, if that one was allowed. */
  | { do: 'refund'; ofStep: number; cost: number }
  | { do: 'reset' }
)

export interface RandomTrace {
  seed: number
  algorithm: AlgorithmName
  steps: TraceStep[]
}

export interface TraceOptions {
  length: number
  /** Lets the clock step back, a little and far. Default: false. */
  clockStepsBack?: boolean
  /** Lets the policy's numbers change between steps. Default: false. */
  numbersChange?: boolean
}

/**
 * A trace that a seed repeats exactly: bursts and pauses, steps on the very moments where windows turn and
 * units leave, refunds, resets. Run it through two stores and compare what `runTrace` returns. With either
 * option, a trace can tell whether a store has let go of an expired state yet: both must keep them.
 */
export function randomTrace(seed: number, algorithm: AlgorithmName, options: TraceOptions): RandomTrace {
  const { length, clockStepsBack = false, numbersChange = false } = options
  const random = randomFrom(seed)
  const policies = Array.from({ length: random.between(2, 3) }, () => randomPolicy(random, algorithm))
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
    if (dice <= 15) steps.push({ ...common, do: 'check', cost })
    else if (dice <= 17) steps.push({ ...common, do: 'peek', cost })
    else if (dice <= 19 && i > 0) {
      // Mostly of what has just been done: older decisions mostly no longer count.
      const ofStep = Math.max(0, i - random.between(1, random.oneOf([2, 20])))
      steps.push({ ...common, do: 'refund', ofStep, key: steps[ofStep]!.key, cost })
    } else steps.push({ ...common, do: 'reset' })
  }
  return { seed, algorithm, steps }
}

/** Runs a trace through a store on this clock. One answer for each step. */
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
    else if (step.do === 'refund') {
      const decision = answers[step.ofStep]
      const wasTaken = steps[step.ofStep]!.do === 'check' && typeof decision === 'object' && decision.allowed
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

function randomPolicy(random: Random, algorithm: AlgorithmName): Policy {
  const limit = random.oneOf([
    1,
    random.between(2, 10),
    random.between(11, 1000),
    random.between(1001, 100_000),
  ])
  if (algorithm === 'token-bucket' || algorithm === 'leaky-bucket') {
    const rate = `${random.between(1, 1000)}/${random.oneOf([1, 7, 333, 1000, 60_000, 3_600_000])}ms`
    const rateField = algorithm === 'token-bucket' ? 'refillRate' : 'leakRate'
    return definePolicy({ algorithm, name: 'traced', capacity: limit, [rateField]: rate })
  }
  const window = random.oneOf([1, 10, random.between(11, 999), 1000, 60_000, 86_400_000, 366 * 86_400_000])
  // Large windows with large limits are where products pass 2^53.
  const large = algorithm === 'sliding-window-log' ? 100_000 : 1_000_000_000
  return definePolicy({ algorithm, name: 'traced', limit: random.oneOf([limit, limit, large]), window })
}

/** How far the time moves before a step, in microseconds. */
function randomMove(random: Random, policy: Policy, nowUs: number): number {
  const span = 'windowUs' in policy ? policy.windowUs : Math.max(1, policy.spanUs)
  const dice = random.between(1, 40)
  if (dice <= 14) return 0
  if (dice <= 22) return random.between(1, 3)
  if (dice <= 28) return random.between(1, Math.max(1, Math.floor(span / 3)))
  // To the very edge of a window, and one microsecond to either side.
  if (dice <= 32) return span - (nowUs % span) + random.between(-1, 1)
  if (dice <= 35) return span + random.between(-1, 1)
  if (dice <= 36) return random.between(span, 3 * span)
  if (dice <= 38) return -random.between(1, span)
  return -random.between(span, 3 * span)
}
