import type { ManualClock } from '../clock.js'
import type { Decision } from '../decision.js'
import { type ConcurrencyPolicy, concurrency, fixedWindow } from '../policy/index.js'
import type { FullStore, SlotRequest } from '../store/full-store.js'
import type { Store, TakeRequest, TakeResult } from '../store/store.js'
import { type Random, randomFrom } from './random.js'
import { START_MS } from './tables.js'

/** One step of a trace of slots. */
export type SlotStep = { timeMs: number } & (
  | { do: 'acquire' | 'peek'; request: TakeRequest }
  | { do: 'take'; requests: TakeRequest[] }
  | { do: 'release' | 'renew'; slots: SlotRequest[] }
  | { do: 'reset'; request: TakeRequest }
)

/** Options of `randomSlotTrace`. */
export interface SlotTraceOptions {
  /** The number of steps. */
  length: number
  /** Whether the clock can step back, a little or far. Default: false. */
  clockStepsBack?: boolean
  /** Whether the policy's numbers can change between steps. Default: false. */
  numbersChange?: boolean
}

/** The result of a step of a trace of slots. */
export type SlotResult = Decision | TakeResult | (boolean | undefined)[] | undefined

/**
 * Creates a reproducible random trace of slots: acquired alone and beside a rate limit, renewed in time and late, released
 * once and twice, expired to the microsecond. Ids are reused, so that a slot is also acquired again while it is held.
 */
export function randomSlotTrace(seed: number, options: SlotTraceOptions): SlotStep[] {
  const { length, clockStepsBack = false, numbersChange = false } = options
  const random = randomFrom(seed)
  const policies = Array.from({ length: 3 }, () => randomPolicy(random))
  const rate = fixedWindow({ limit: 20, window: '10s', name: 'beside-slots' })
  const steps: SlotStep[] = []
  let policy = policies[0]!
  let timeUs = START_MS * 1000 + random.between(0, 10_000_000)
  for (let i = 0; i < length; i++) {
    if (numbersChange && random.between(1, 10) === 1) policy = random.oneOf(policies)
    const move = randomMove(random, policy)
    timeUs = Math.max(1, timeUs + (clockStepsBack ? move : Math.max(0, move)))
    const slotOf = () => ({ policy, key: random.oneOf(['a', '{b}']), id: `id-${random.between(0, 8)}` })
    const slots = Array.from({ length: random.between(1, 3) }, slotOf)
    const request = { ...slotOf(), cost: 1 }
    const timeMs = timeUs / 1000
    const dice = random.between(1, 20)
    if (dice <= 9) steps.push({ timeMs, do: 'acquire', request })
    else if (dice <= 11) steps.push({ timeMs, do: 'take', requests: [{ ...request, policy: rate }, request] })
    else if (dice <= 12) steps.push({ timeMs, do: 'peek', request: { policy, key: request.key, cost: 1 } })
    else if (dice <= 15) steps.push({ timeMs, do: 'release', slots })
    else if (dice <= 19) steps.push({ timeMs, do: 'renew', slots })
    else steps.push({ timeMs, do: 'reset', request })
  }
  return steps
}

/** Runs a trace of slots on a store with this clock. Returns one result per step. */
export async function runSlotTrace(
  steps: readonly SlotStep[],
  store: Store & Pick<FullStore, 'release' | 'renew'>,
  clock: ManualClock,
): Promise<SlotResult[]> {
  const answers: SlotResult[] = []
  for (const step of steps) {
    clock.set(step.timeMs)
    answers.push(await runStep(step, store))
  }
  return answers
}

async function runStep(
  step: SlotStep,
  store: Store & Pick<FullStore, 'release' | 'renew'>,
): Promise<SlotResult> {
  switch (step.do) {
    case 'acquire':
      return store.check(step.request)
    case 'peek':
      return store.peek(step.request)
    case 'take':
      return store.take(step.requests)
    case 'release':
      return store.release(step.slots)
    case 'renew':
      return store.renew(step.slots)
    case 'reset':
      await store.reset(step.request)
      return undefined
  }
}

function randomPolicy(random: Random): ConcurrencyPolicy {
  const ttl = `${random.oneOf([1000, 3000, 10_000])}ms` as const
  return concurrency({ limit: random.oneOf([1, 2, 3, 5]), ttl, name: 'traced-slots' })
}

/** How far the time moves before a step, in microseconds. */
function randomMove(random: Random, { ttlUs }: ConcurrencyPolicy): number {
  const dice = random.between(1, 20)
  if (dice <= 6) return 0
  if (dice <= 10) return random.between(1, 3)
  if (dice <= 14) return random.between(1, Math.floor(ttlUs / 3))
  if (dice <= 17) return ttlUs + random.between(-1, 1)
  if (dice <= 19) return -random.between(1, ttlUs)
  return -random.between(ttlUs, 3 * ttlUs)
}
