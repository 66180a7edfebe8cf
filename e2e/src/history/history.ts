import type { OnStoreFailure, Policy } from '@tidegate/core'
import { excessOf, type Span } from './bounds.js'

/** One check of a run, as observed by its caller. Times are milliseconds since the Unix epoch by one machine's clock. */
export interface Check {
  readonly startMs: number
  readonly endMs: number
  readonly key: string
  readonly cost: number
  readonly allowed: boolean
  /** How it was decided without the store, if it was. */
  readonly degraded?: OnStoreFailure | undefined
  /** The store's own time of the decision, if the answer has it. */
  readonly atMs?: number | undefined
  /** Whether it was decided from a lease. */
  readonly leased?: boolean | undefined
}

/** A period in which at least some checks were decided without the store. */
export interface Phase {
  readonly fromMs: number
  toMs: number
  answers: number
  /** Units that were admitted without the store. */
  admitted: number
}

export interface Verdict {
  /** Proofs of over-admission; empty if the limit held. */
  readonly violations: string[]
  /** Decisions of the store, and the units that it admitted. */
  readonly exact: { readonly answers: number; readonly admitted: number }
  readonly phases: readonly Phase[]
}

export interface HistoryOptions {
  /** When the store lost its state: it was killed, and keeps nothing on disk. Default: never. */
  readonly resetAtMs?: readonly number[]
  /** How far the store's clock and that of the checks may be apart. Default: 5. */
  readonly skewMs?: number
}

/**
 * Verifies that the limit held: no interval admitted more than the policy's algorithm allows. Each check was decided at
 * some moment between its start and its end, or at the store's own time if the answer has it. A history is a violation
 * only if no order of the decisions could explain it.
 *
 * Decisions without the store do not count towards the limit. They are reported as phases.
 */
export function verify(history: readonly Check[], policy: Policy, options: HistoryOptions = {}): Verdict {
  const { resetAtMs = [], skewMs = 5 } = options
  const violations: string[] = []
  const exact = history.filter(({ degraded }) => degraded === undefined)
  const admitted = exact.filter(({ allowed }) => allowed)
  for (const [name, lives] of livesOf(admitted, resetAtMs)) {
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

/** Verifies each key separately, and restarts at each reset of the store. */
function livesOf(checks: readonly Check[], resetAtMs: readonly number[]): Map<string, Check[]> {
  const lives = new Map<string, Check[]>()
  for (const check of checks) {
    const times = resetAtMs.filter((ms) => check.startMs >= ms).length
    const name = times === 0 ? check.key : `${check.key}, after reset ${times}`
    const life = lives.get(name)
    if (life === undefined) lives.set(name, [check])
    else life.push(check)
  }
  return lives
}

/** The time in which a check was decided, in microseconds. */
function spanOf({ startMs, endMs, atMs, cost }: Check, skewMs: number): Span | undefined {
  if (atMs === undefined) return { fromUs: Math.floor(startMs * 1000), toUs: Math.ceil(endMs * 1000), cost }
  if (atMs < startMs - skewMs || atMs > endMs + skewMs) return undefined
  const atUs = Math.round(atMs * 1000)
  return { fromUs: atUs, toUs: atUs, cost }
}

/** A phase ends with the last decision without the store before the store decides a later check. */
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
