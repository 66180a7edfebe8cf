import type { OnStoreFailure, Policy } from '@tidegate/core'
import { excessOf, type Span } from './bounds.js'

/** One check of a run, as whoever made it saw it. Times are milliseconds since 1970 of one machine's clock. */
export interface Check {
  readonly startMs: number
  readonly endMs: number
  readonly key: string
  readonly cost: number
  readonly allowed: boolean
  /** How it was answered without the store, if it was. */
  readonly degraded?: OnStoreFailure | undefined
  /** The store's own time of the decision, where the answer tells it. */
  readonly atMs?: number | undefined
}

/** A time in which at least some checks were answered without the store. */
export interface Phase {
  readonly fromMs: number
  toMs: number
  answers: number
  /** Units that were let through without the store. */
  admitted: number
}

export interface Verdict {
  /** What cannot have been right; empty if the limit was kept. */
  readonly violations: string[]
  /** Answers that the store gave, and the units that it admitted. */
  readonly exact: { readonly answers: number; readonly admitted: number }
  readonly phases: readonly Phase[]
}

export interface HistoryOptions {
  /** The moments at which the store forgot everything: it was killed, and keeps nothing on disk. Default: none. */
  readonly forgottenAtMs?: readonly number[]
  /** How far the store's clock and that of the checks may be apart. Default: 5. */
  readonly skewMs?: number
}

/**
 * Proves that a run kept its limit: no interval of time admitted more than the policy's algorithm allows. Of each
 * check it is known only that it was decided between its start and its end, or at the store's own time if the answer
 * tells it; so nothing is called wrong that some order of the decisions could explain.
 *
 * What was answered without the store is set apart: it does not count towards the limit, and how long it lasted is
 * told instead.
 */
export function verify(history: readonly Check[], policy: Policy, options: HistoryOptions = {}): Verdict {
  const { forgottenAtMs = [], skewMs = 5 } = options
  const violations: string[] = []
  const exact = history.filter(({ degraded }) => degraded === undefined)
  const admitted = exact.filter(({ allowed }) => allowed)
  for (const [name, lives] of livesOf(admitted, forgottenAtMs)) {
    const spans: Span[] = []
    for (const check of lives) {
      const span = spanOf(check, skewMs)
      if (span === undefined)
        violations.push(`${name}: decided at ${check.atMs}, outside of ${timesOf(check)}`)
      else spans.push(span)
    }
    const excess = excessOf(spans, policy)
    if (excess !== undefined) violations.push(`${name}: ${excess}`)
  }
  return {
    violations,
    exact: { answers: exact.length, admitted: unitsOf(admitted) },
    phases: phasesOf(history),
  }
}

/** Each key by itself, and anew from each moment at which the store forgot. */
function livesOf(checks: readonly Check[], forgottenAtMs: readonly number[]): Map<string, Check[]> {
  const lives = new Map<string, Check[]>()
  for (const check of checks) {
    const times = forgottenAtMs.filter((ms) => check.startMs >= ms).length
    const name = times === 0 ? check.key : `${check.key}, forgotten ${times} times`
    const life = lives.get(name)
    if (life === undefined) lives.set(name, [check])
    else life.push(check)
  }
  return lives
}

/** When a check can have been decided, in microseconds. */
function spanOf({ startMs, endMs, atMs, cost }: Check, skewMs: number): Span | undefined {
  if (atMs === undefined) return { fromUs: Math.floor(startMs * 1000), toUs: Math.ceil(endMs * 1000), cost }
  if (atMs < startMs - skewMs || atMs > endMs + skewMs) return undefined
  const atUs = Math.round(atMs * 1000)
  return { fromUs: atUs, toUs: atUs, cost }
}

/** From the first answer without the store to the last one before the store answers a check that was made later. */
export function phasesOf(history: readonly Check[]): Phase[] {
  const phases: Phase[] = []
  let current: Phase | undefined
  for (const check of [...history].sort((a, b) => a.startMs - b.startMs)) {
    if (check.degraded === undefined) {
      if (current !== undefined && check.startMs > current.toMs) current = undefined
      continue
    }
    if (current === undefined) {
      current = { fromMs: check.startMs, toMs: check.endMs, answers: 0, admitted: 0 }
      phases.push(current)
    }
    current.toMs = Math.max(current.toMs, check.endMs)
    current.answers++
    if (check.allowed) current.admitted += check.cost
  }
  return phases
}

function unitsOf(checks: readonly Check[]): number {
  return checks.reduce((sum, { cost }) => sum + cost, 0)
}

function timesOf({ startMs, endMs }: Check): string {
  return `${startMs} to ${endMs}`
}
