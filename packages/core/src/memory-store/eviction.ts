import { decide } from '../algorithms/index.js'
import type { Rows } from './rows.js'

/** A key that a full store can evict. */
export interface Candidate {
  slot: number
  /** Whether the wait of the last denial is not over yet. */
  isDenied: boolean
  /** The used share of the limit, 0 to 1; 0 for an expired state. */
  usedShare: number
  /** When the denial ends, or else when the state expires. */
  until: number
}

/** Whether a request of the key would be denied, as far as is known: the last one was, or nothing is left. */
export function isBlocked({ isDenied, usedShare }: Candidate): boolean {
  return isDenied || usedShare === 1
}

/**
 * Picks the key to evict: of a few random keys, the one that loses least. Idle keys go first and denied keys last. While
 * all of them are denied, more keys are compared.
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
  const { remaining } = decide(policy, rows.load(slot, now), now, 1, 'peek').decision
  // A denial does not outlast the state. One that seems to was recorded before the clock stepped back.
  const deniedUntil = rows.deniedUntil(slot)
  const isDenied = deniedUntil > now && deniedUntil <= expiresAt
  const usedShare = 1 - remaining / policy.limit
  return { slot, isDenied, usedShare, until: isDenied ? deniedUntil : expiresAt }
}

/** Whether `a` should be evicted rather than `b`. */
function goesBefore(a: Candidate, b: Candidate): boolean {
  if (a.isDenied !== b.isDenied) return b.isDenied
  if (!a.isDenied && a.usedShare !== b.usedShare) return a.usedShare < b.usedShare
  return a.until < b.until
}

/** How many keys are compared, and how many at most while all of them are denied. */
const SAMPLES = 8
const MAX_SAMPLES = 64
