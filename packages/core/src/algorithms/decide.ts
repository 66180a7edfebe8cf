import type { Decision } from '../decision.js'
import type { Policy } from '../policy.js'
import type { Mode } from './algorithm.js'
import { algorithmOf } from './all.js'
import { LAYOUT, makeRows, type Rows } from './rows.js'

/*
 * The algorithms as pure functions of (policy, state, now, cost), for tests, simulations and whoever wants
 * to look inside. Times are whole microseconds. The memory store calls the algorithms themselves.
 */

/**
 * What an algorithm keeps for one key, and when a store may let go of it. To keep it longer changes nothing
 * as long as the policy keeps its numbers. Undefined for an untouched key.
 */
export interface KeyState {
  readonly state: object
  readonly expiresAt: number
}

export function decide(
  policy: Policy,
  known: KeyState | undefined,
  now: number,
  cost: number,
  mode: Mode = 'take',
): { decision: Decision; state: KeyState | undefined } {
  return onOwnRow(policy, known, (rows) => ({
    decision: algorithmOf(policy).decide(policy, rows, 0, now, cost, mode),
  }))
}

/** Gives back units of a decision made at `decidedAt`; `given` says how many. */
export function refund(
  policy: Policy,
  known: KeyState | undefined,
  now: number,
  decidedAt: number,
  cost: number,
): { given: number; state: KeyState | undefined } {
  if (known === undefined) return { given: 0, state: undefined }
  return onOwnRow(policy, known, (rows) => ({
    given: algorithmOf(policy).refund(policy, rows, 0, now, decidedAt, cost),
  }))
}

/** Runs `step` on a row of its own that holds the state, and reads the state back. */
function onOwnRow<T extends object>(
  policy: Policy,
  known: KeyState | undefined,
  step: (rows: Rows) => T,
): T & { state: KeyState | undefined } {
  const algorithm = algorithmOf(policy)
  const rows = makeRows(1)
  if (known !== undefined) {
    rows.numbers[LAYOUT.EXPIRES_AT] = known.expiresAt
    algorithm.save(known.state, rows, 0)
  }
  const result = step(rows)
  const expiresAt = rows.numbers[LAYOUT.EXPIRES_AT]!
  return { ...result, state: expiresAt > 0 ? { state: algorithm.load(rows, 0), expiresAt } : undefined }
}
