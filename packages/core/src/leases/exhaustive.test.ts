import { describe, expect, it } from 'vitest'
import { decide, type KeyState, refund } from '../algorithms/index.js'
import {
  definePolicy,
  fixedWindow,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../policy/index.js'
import type { TakeUpToResult } from '../store/full-store.js'
import { takeUpToResult, unitsToTake } from '../store/take-up-to.js'
import type { Lease } from './lease.js'
import * as rightRules from './lease.js'

// Two processes and a limit of three, in whole seconds: every order of sending, arrival at the store, reply, spending,
// giving back, loss, crash and the passing of time. Each admission is repeated at its own moment on the same policy
// without a lease, which must admit it too.

const SECONDS = 4
const lease = { maxAge: '2s', share: 1 } as const
const fixed = fixedWindow({ limit: 3, window: '3s', name: 'fixed', lease })
const counter = slidingWindowCounter({ limit: 3, window: '3s', name: 'counter', lease })
const log = slidingWindowLog({ limit: 3, window: '3s', name: 'log', lease })
/** Refills one token within maxAge, so the reduced capacity is three. */
const bucket = tokenBucket({ capacity: 4, refillRate: '1/2s', name: 'bucket', lease })

interface Rules {
  leaseOf: typeof rightRules.leaseOf
  isAlive: typeof rightRules.isAlive
  isGivenBack: typeof rightRules.isGivenBack
}

interface Mutation {
  rules?: Partial<Rules> | undefined
  /** The policy that the store counts by. */
  countAs?: (policy: RatePolicy) => RatePolicy
  /** Whether a lease that ended keeps its units. */
  isGivenBackTwice?: boolean
}

/** One process: a call in flight, or a lease. Leases are replaced, never changed, as states are shared. */
interface Holder {
  call: { sent: number; result: TakeUpToResult | undefined } | undefined
  lease: Lease | undefined
  /** How many more calls it makes. */
  calls: number
  /** How many more checks it makes without a lease. */
  checks: number
}

interface State {
  second: number
  holders: readonly [Holder, Holder]
  stored: KeyState | undefined
  /** The state of the policy without a lease, after all admissions. */
  reference: KeyState | undefined
  crashes: number
}

const START_US = 1_800_000_000_000_000 + 1_000_000
const momentOf = (second: number) => ({ ms: second * 1000, wallMs: second * 1000 })

/** The number of states, and the first order of events that admits too much. */
function explore(policy: RatePolicy, mutation: Mutation = {}): { states: number; problem?: string[] } {
  const rules: Rules = { ...rightRules, ...mutation.rules }
  const countAs = mutation.countAs ?? ((same: RatePolicy) => same)
  const { lease: _, ...options } = policy
  const policyWithoutLease = definePolicy(options) as RatePolicy
  const seen = new Set<string>()
  const trail: string[] = []
  const timeOf = ({ second }: State) => START_US + second * 1_000_000

  /** The state after an admission; undefined if the policy without a lease would have denied it. */
  function admit(state: State): State | undefined {
    const { decision, state: reference } = decide(policyWithoutLease, state.reference, timeOf(state), 1)
    return decision.allowed ? { ...state, reference } : undefined
  }

  function withHolder(state: State, i: number, change: Partial<Holder>): State {
    const holders = state.holders.map((holder, j) => (i === j ? { ...holder, ...change } : holder))
    return { ...state, holders: holders as [Holder, Holder] }
  }

  /** The events that can happen next. A result of undefined is an over-admission. */
  function* events(state: State): Generator<[title: string, next: State | undefined]> {
    const now = timeOf(state)
    for (const [i, holder] of state.holders.entries()) {
      const { call, lease, calls, checks } = holder
      if (call === undefined && calls > 0) {
        const sent = { call: { sent: state.second, result: undefined }, calls: calls - 1 }
        yield [`${i} sends`, withHolder(state, i, sent)]
      }
      if (call !== undefined && call.result === undefined) {
        const as = countAs(policy)
        const request = { policy: as, key: 'k', min: 1, max: Math.min(2, as.limit), divisor: 1 }
        const look = decide(as, state.stored, now, 1, 'peek').decision
        const { decision, state: stored } = decide(as, state.stored, now, unitsToTake(look, request))
        const result = takeUpToResult(decision, stored)
        const next = withHolder({ ...state, stored }, i, { call: { ...call, result } })
        // The check that made the call is admitted here, between its start and its end.
        yield [`${i}'s call takes ${result.taken}`, result.taken > 0 ? admit(next) : next]
      }
      if (call?.result !== undefined) {
        yield [`${i}'s reply is lost`, withHolder(state, i, { call: undefined })]
        const sent = momentOf(call.sent)
        const limit = { policy, key: 'k', generation: 0 }
        const granted = call.result.taken > 1 ? rules.leaseOf(limit, call.result, sent, 1) : undefined
        // One lease at a time is held; a lease that is replaced ends first.
        if (lease === undefined) {
          yield [`${i} gets its reply`, withHolder(state, i, { call: undefined, lease: granted })]
        }
      }
      if (lease !== undefined && lease.unitsLeft > 0 && rules.isAlive(lease, momentOf(state.second))) {
        const nextLease = { ...lease, unitsLeft: lease.unitsLeft - 1 }
        yield [`${i} spends`, admit(withHolder(state, i, { lease: nextLease }))]
      }
      if (lease !== undefined) {
        const isRefunded = rules.isGivenBack(policy) && lease.unitsLeft > 0
        const at = Math.round(lease.decision.timeMs * 1000)
        const stored = isRefunded
          ? refund(countAs(policy), state.stored, now, at, lease.unitsLeft).state
          : state.stored
        const kept = mutation.isGivenBackTwice ? lease : undefined
        // At any time: a lease can also end early, when it is replaced.
        yield [`${i} ends its lease`, withHolder({ ...state, stored }, i, { lease: kept })]
      }
      if (checks > 0) {
        const { decision, state: stored } = decide(countAs(policy), state.stored, now, 1)
        const next = withHolder({ ...state, stored }, i, { checks: checks - 1 })
        yield [`${i} checks: ${decision.allowed}`, decision.allowed ? admit(next) : next]
      }
      if (state.crashes > 0 && (call !== undefined || lease !== undefined)) {
        const next = { ...state, crashes: state.crashes - 1 }
        yield [`${i} crashes`, withHolder(next, i, { call: undefined, lease: undefined })]
      }
    }
    if (state.second < SECONDS) yield ['a second passes', { ...state, second: state.second + 1 }]
  }

  function visit(state: State): boolean {
    const id = idOf(state)
    if (seen.has(id)) return false
    seen.add(id)
    for (const [title, next] of events(state)) {
      trail.push(title)
      if (next === undefined || visit(next)) return true
      trail.pop()
    }
    return false
  }

  const holder: Holder = { call: undefined, lease: undefined, calls: 1, checks: 1 }
  const start: State = {
    second: 0,
    holders: [holder, holder],
    stored: undefined,
    reference: undefined,
    crashes: 1,
  }
  const isFound = visit(start)
  return isFound ? { states: seen.size, problem: trail } : { states: seen.size }
}

/** A key that is equal for states with the same possible continuations. */
function idOf({ second, holders, stored, reference, crashes }: State): string {
  const ofHolders = holders.map(({ call, lease, calls, checks }) => [
    ...[calls, checks, call?.sent, call?.result?.taken, call?.result?.decision.timeMs],
    ...[lease?.sent.ms, lease?.unitsLeft, lease?.lifeMs, lease?.decision.timeMs],
  ])
  return [second, crashes, ofHolders.join(), textOf(stored), textOf(reference)].join(';')
}

function textOf(state: KeyState | undefined): string {
  if (state?.algorithm !== 'sliding-window-log') return JSON.stringify(state) ?? ''
  // The runs of a log are shared by many states.
  const { runs, head, tail, total, base, shift } = state
  const visible = runs.slice(2 * head, 2 * tail)
  return [total - base, ...visible.map((n, i) => (i % 2 === 0 ? n + shift : n - base))].join()
}

function unleased(policy: RatePolicy): RatePolicy {
  const { lease: _, ...options } = policy
  return definePolicy(options) as RatePolicy
}

describe('every order of events', () => {
  it.each([fixed, counter, log, bucket])('$algorithm: admits no more than without leases', (policy) => {
    const { states, problem } = explore(policy)
    expect(problem).toBeUndefined()
    // Many states were explored: otherwise the test proves nothing.
    expect(states).toBeGreaterThan(10_000)
  })
})

const withoutEnd: Partial<Rules> = {
  leaseOf: (limit, result, sent, own) =>
    rightRules.leaseOf(limit, { ...result, windowEndMs: undefined }, sent, own),
}

describe('detects an incorrect rule', () => {
  it.each<[title: string, policy: RatePolicy, mutation: Mutation]>([
    ["a lease beyond the window's end", fixed, { rules: withoutEnd }],
    ["a lease beyond the window's end", counter, { rules: withoutEnd }],
    ['a log whose units count for the window only', log, { countAs: () => unleased(log) }],
    ['a window that gets units back twice', fixed, { isGivenBackTwice: true }],
  ])('%s', (_, policy, mutation) => {
    expect(explore(policy, mutation).problem).toBeDefined()
  })
})
