import { msToUs } from '../clock.js'
import type { Decision } from '../decision.js'
import type { Policy } from '../policy.js'
import type { Algorithm, Mode } from './algorithm.js'
import { clear, LAYOUT, type Rows, zeros } from './rows.js'

const { ROW, EXPIRES_AT } = LAYOUT

/**
 * Decides on a store's row, and notes a refusal beside it. A row that has expired is read as untouched: a take clears
 * it, all else reads row 0 in its place, which is nobody's and stays zeros.
 */
export function decideRow<P extends Policy>(
  algorithm: Pick<Algorithm<P, unknown>, 'decide'>,
  policy: P,
  rows: Rows,
  row: number,
  now: number,
  cost: number,
  mode: Mode,
): Decision {
  const isLive = rows.numbers[row * ROW + EXPIRES_AT]! > now
  if (!isLive && mode === 'take') clear(rows, row)
  const decision = algorithm.decide(policy, rows, isLive || mode === 'take' ? row : 0, now, cost, mode)
  if (!decision.allowed && mode !== 'peek') {
    if (rows.refusedUntil.length === 0) rows.refusedUntil = zeros(rows.numbers.length / ROW)
    // By numbers that did not write it the wait may be longer than the state lasts, and nobody is refused after that.
    const expiresAt = rows.numbers[row * ROW + EXPIRES_AT]!
    rows.refusedUntil[row] = Math.min(expiresAt, now + msToUs(decision.retryAfterMs))
  }
  return decision
}
