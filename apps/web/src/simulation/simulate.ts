import { type Decision, decide, ManualClock, MemoryStore, type RatePolicy } from '@tidegate/core'
import { type Block, type Charges, firstRequestStarts, type StateAt, stateOf } from './state.js'

/** The result of one limiter. Index i is the i-th request; times are milliseconds on the axis. */
export interface Run {
  readonly atMs: readonly number[]
  readonly allowed: readonly boolean[]
  /** The delay that a leaky bucket returned for each request; 0 for other algorithms. */
  readonly delayMs: readonly number[]
  /** Arrival times of the allowed requests, ascending. */
  readonly admittedMs: readonly number[]
  /** When the key was blocked, ascending. */
  readonly blocks: readonly Block[]
  /** Where windows start, if they start with requests. */
  readonly windowStartsMs?: readonly number[]
  /** The state of the limiter at a time, after all requests of that time. */
  readonly stateAt: StateAt
}

/** Runs the store of the core on a manual clock. `originMs` is the start of the axis. */
export function simulate(policy: RatePolicy, originMs: number, arrivals: readonly number[]): Run {
  const clock = new ManualClock(originMs)
  const store = new MemoryStore({ clock })
  const results = arrivals.map((at) => {
    clock.set(originMs + at)
    return store.check({ policy, key: 'visitor', cost: 1 })
  })
  const charges = chargesOf(policy, arrivals, results)
  const run = {
    atMs: arrivals,
    allowed: results.map((decision) => decision.allowed),
    delayMs: results.map((decision) => decision.delayMs),
    blocks: charges.blocks,
  }
  const stateAt = stateOf(policy, originMs, charges)
  if (policy.algorithm !== 'fixed-window' || policy.windowKind !== 'first-request') return runOf(run, stateAt)
  const charged = arrivals.filter((_, i) => charges.charged[i])
  return { ...runOf(run, stateAt), windowStartsMs: firstRequestStarts(charged, policy.windowUs / 1000) }
}

export function runOf(run: Omit<Run, 'admittedMs' | 'stateAt'>, stateAt: StateAt): Run {
  return { ...run, admittedMs: run.atMs.filter((_, i) => run.allowed[i]), stateAt }
}

/**
 * The charges behind the decisions. The decisions of a blocked key do not show its count, so the count is decided again
 * without the blocks.
 */
function chargesOf(policy: RatePolicy, atMs: readonly number[], decisions: readonly Decision[]): Charges {
  const blocks: Block[] = []
  let state: Parameters<typeof decide>[1]
  const outcomes = decisions.map(({ reason, timeMs }, i) => {
    const at = atMs[i]!
    const wasBlocked = at < (blocks.at(-1)?.toMs ?? Number.NEGATIVE_INFINITY) - 0.0005
    if (reason === 'blocked' && !wasBlocked) {
      blocks.push({ fromMs: at, toMs: at + policy.blockForUs / 1000 })
    }
    const mode = wasBlocked ? 'repair' : 'take'
    const before = state
    const outcome = decide(policy, before, Math.round(timeMs * 1000), 1, mode)
    state = outcome.state
    return { charged: state !== before, resetAfterMs: outcome.decision.resetAfterMs }
  })
  return {
    atMs,
    charged: outcomes.map(({ charged }) => charged),
    resetAfterMs: outcomes.map(({ resetAfterMs }) => resetAfterMs),
    blocks,
  }
}
