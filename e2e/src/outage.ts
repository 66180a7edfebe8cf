import { expect } from 'vitest'
import type { BothLoads } from './both-loads.js'
import { highest, percentile, whole } from './figures.js'
import { violationsOf } from './five-limits.js'
import { type Phase, phasesOf } from './history/history.js'
import type { Made } from './load.js'

export interface Outage {
  /** When the store was up again. */
  readonly backMs: number
  /** When the store lost its state. */
  readonly resetAtMs: readonly number[]
}

/** The figures of an outage of the store under both loads. */
export function figuresOf({ library, service, checksAfterWarmUp, events }: BothLoads, { backMs }: Outage) {
  const made = checksAfterWarmUp()
  const tookMs = made.map((one) => one.tookMs)
  const exactAfterMsInLibrary = endOf(phasesOf(library.made), backMs) - backMs
  const exactAfterMsInService = endOf(phasesOf(service.made), backMs) - backMs
  return {
    checks: made.length,
    withoutStore: made.filter(({ degraded }) => degraded !== undefined).length,
    p999Ms: percentile(tookMs, 0.999),
    slowestMs: highest(tookMs),
    slowestMsInLibrary: highest(library.made.map((one) => one.tookMs)),
    exactAfterMsInLibrary,
    exactAfterMsInService,
    lostAgainMs: [library, service].reduce((sum, { made }) => sum + lostAgainMs(phasesOf(made), backMs), 0),
    phasesInLibrary: phasesInWords(library.made, backMs),
    phasesInService: phasesInWords(service.made, backMs),
    probes: events.filter((event) => event.type === 'breaker' && event.state === 'half-open').length,
    deniedAfter: made.filter(
      ({ startMs, allowed, degraded }) => startMs > backMs && !allowed && degraded === undefined,
    ).length,
  }
}

/**
 * When the outage was over. A phase that begins shortly after another belongs to the same outage. A later one is
 * another outage, which can happen on a busy machine.
 */
export function endOf(phases: readonly Phase[], backMs: number): number {
  return phases.reduce(
    (endMs, { fromMs, toMs }) => (fromMs < endMs + TOGETHER_MS ? Math.max(endMs, toMs) : endMs),
    backMs,
  )
}

const TOGETHER_MS = 100

/** How long the store was unavailable after the outage was over. */
export function lostAgainMs(phases: readonly Phase[], backMs: number): number {
  const overMs = endOf(phases, backMs)
  return phases
    .filter(({ fromMs }) => fromMs > overMs)
    .reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
}

/** When the store was unavailable, in milliseconds relative to `backMs`. */
function phasesInWords(made: readonly Made[], backMs: number): string {
  return phasesOf(made)
    .map(({ fromMs, toMs, answers }) => `${whole(fromMs - backMs)} to ${whole(toMs - backMs)}: ${answers}`)
    .join('; ')
}

export function inWords(figures: ReturnType<typeof figuresOf>): string {
  const exactAfterMs = Math.max(0, figures.exactAfterMsInLibrary, figures.exactAfterMsInService)
  return (
    `${whole(figures.checks)} checks, ${whole(figures.withoutStore)} of them decided without Redis, none failed; ` +
    `the slowest took ${whole(figures.slowestMs)} ms; limits exact ${whole(exactAfterMs)} ms after it was back`
  )
}

/** Asserts that every check was answered in time, and that limits are exact again. */
export function expectAnswers(loads: BothLoads, outage: Outage): void {
  const { library, service } = loads
  const figures = figuresOf(loads, outage)
  expect([...library.errors, ...service.errors]).toStrictEqual([])
  expect([...new Set(service.made.map(({ status }) => status))].sort()).toStrictEqual([200, 429])
  for (const { made } of [library, service]) {
    const degraded = new Set(made.flatMap((one) => one.degraded ?? []))
    expect([...degraded]).toStrictEqual(['open'])
  }
  expect(figures.slowestMs).toBeLessThanOrEqual(SLOWEST_MS)
  expect(figures.exactAfterMsInLibrary).toBeLessThanOrEqual(BACK_WITHIN_MS)
  expect(figures.exactAfterMsInService).toBeLessThanOrEqual(BACK_WITHIN_MS)
  // Later outages are short: moments in which Redis itself had no processor time.
  expect(figures.lostAgainMs).toBeLessThanOrEqual(LOST_AGAIN_MS)
  // Demand must be above the limits before and after, because a limit that is not reached proves nothing.
  expect(figures.deniedAfter).toBeGreaterThan(1000)
  expect(violationsOf([...library.made, ...service.made], outage)).toStrictEqual([])
}

const SLOWEST_MS = 100
export const BACK_WITHIN_MS = 2000
export const LOST_AGAIN_MS = 1500
