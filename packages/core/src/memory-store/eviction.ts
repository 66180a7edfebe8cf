import * as concurrency from '../algorithms/concurrency.js'
import { decide, type KeyState } from '../algorithms/index.js'
import type { Policy } from '../policy/index.js'
import type { RowState, Rows } from './rows.js'

/** A key that a full store can evict. */
export interface Candidate {
  slot: number
  /** Whether the wait of the last denial is not over, or slots are held, which their holders rely on. */
  isDenied: boolean
  /** The used fraction of the limit, 0 to 1; 0 for an expired state. */
  usedShare: number
  /** When the denial ends, or the state expires if it is not denied. */
  until: number
}

/** Whether the next request of the key would probably be denied: the last one was, or no units remain. */
export function staysDenied({ isDenied, usedShare }: Candidate): boolean {
  return isDenied || usedShare === 1
}

/**
 * Picks the key to evict from a few random keys: the one with the smallest used fraction, and denied keys last. If all of
 * them are denied, more keys are compared.
 */
export function pickVictim(rows: Rows, now: number): Candidate {
  let victim = randomCandidate(rows, now)
  for (let i = 1; i < MAX_SAMPLES; i++) {
    if (i >= SAMPLES && !victim.isDenied) break
    const other = randomCandidate(rows, now)
    if (goesBefore(other, victim)) victim = other
  }
  return victim
}

function randomCandidate(rows: Rows, now: number): Candidate {
  let slot: number
  let policy: ReturnType<Rows['policyOf']>
  do {
    slot = Math.floor(Math.random() * rows.end)
    policy = rows.policyOf(slot)
  } while (policy === undefined)
  const expiresAt = rows.expiresAt(slot)
  const usedShare = 1 - remainingOf(policy, rows.load(slot, now), now) / policy.limit
  // A denial cannot outlast the state, unless it was recorded before the clock stepped back: then ignore it.
  const deniedUntil = rows.deniedUntil(slot)
  const isDenied = deniedUntil > now && deniedUntil <= expiresAt
  const isHeld = policy.algorithm === 'concurrency' && usedShare > 0
  return { slot, isDenied: isDenied || isHeld, usedShare, until: isDenied ? deniedUntil : expiresAt }
}

function remainingOf(policy: Policy, state: RowState | undefined, now: number): number {
  const { decision } =
    policy.algorithm === 'concurrency'
      ? concurrency.decide(policy, state, now, 'peek')
      : decide(policy, state as KeyState | undefined, now, 1, 'peek')
  return decision.remaining
}

/** Whether `a` should be evicted rather than `b`. */
function goesBefore(a: Candidate, b: Candidate): boolean {
  if (a.isDenied !== b.isDenied) return b.isDenied
  if (!a.isDenied && a.usedShare !== b.usedShare) return a.usedShare < b.usedShare
  return a.until < b.until
}

/** The number of compared keys, and the maximum if all of them are denied. */
const SAMPLES = 8
const MAX_SAMPLES = 64
