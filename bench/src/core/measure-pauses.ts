import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { makeKeys } from '../load/keys.js'
import type { Figures } from '../report/figures.js'
import type { Subject } from './core-contenders.js'
import type { PauseScenario } from './core-scenarios.js'
import { cpuWaitMs } from './cpu-wait.js'
import { collectGarbage } from './garbage.js'

/**
 * The longest single check while a store grows, and while every check evicts a key: by the clock, then without the time
 * in which the process had no core, then also without garbage collections.
 */
export async function measurePauses(
  make: (maxKeys: number) => Subject,
  { keys: count }: PauseScenario,
): Promise<Figures> {
  // Warm up with a small store that evicts most keys, so that the engine does not compile during the measurement.
  await longestCheck(make(WARM_UP_KEYS / 10), makeKeys(WARM_UP_KEYS))

  const subject = make(count)
  const growth = await longestCheck(subject, makeKeys(count))
  const whileGrowing = {
    growthMs: growth.longestMs,
    growthOnCpuMs: growth.onCpuMs,
    growthWithoutGcMs: growth.withoutGcMs,
    growthMeanNs: growth.meanNs,
  }
  if (subject.maxKeys === undefined) return whileGrowing
  assertSize(subject, count)
  const eviction = await longestCheck(subject, makeKeys(count, 'short', count))
  assertSize(subject, count)
  return {
    ...whileGrowing,
    evictionMs: eviction.longestMs,
    evictionOnCpuMs: eviction.onCpuMs,
    evictionWithoutGcMs: eviction.withoutGcMs,
    evictionMeanNs: eviction.meanNs,
  }
}

interface Longest {
  longestMs: number
  onCpuMs: number
  withoutGcMs: number
  meanNs: number
}

async function longestCheck(subject: Subject, keys: readonly string[]): Promise<Longest> {
  const distinct = new Set(keys).size
  if (distinct !== keys.length) throw new Error(`${keys.length} keys expected, ${distinct} distinct.`)
  // Moves the keys out of the young generation: collecting them later would count as a pause of the store.
  await collectGarbage()
  // The threads of the garbage collector run on for a while.
  await new Promise((resolve) => setTimeout(resolve, 500))
  const collections: PerformanceEntry[] = []
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })

  const slow: { start: number; end: number; waitedMs: number }[] = []
  let fastMs = 0
  let allowed = 0
  let waitedBefore = cpuWaitMs()
  const began = performance.now()
  for (let i = 0; i < keys.length; i++) {
    // Too slow for every check. A wait that matters is within a slow check or between two checks.
    if (i % 256 === 0) waitedBefore = cpuWaitMs()
    const key = keys[i]!
    const start = performance.now()
    const result = subject.check(key)
    const end = performance.now()
    if (end - start > SLOW_MS) {
      const waited = cpuWaitMs()
      slow.push({ start, end, waitedMs: Math.max(0, waited - waitedBefore) })
      waitedBefore = waited
    } else if (end - start > fastMs) {
      fastMs = end - start
    }
    if (subject.isAllowed(result)) allowed++
  }
  const meanNs = ((performance.now() - began) * 1e6) / keys.length
  if (allowed !== keys.length) throw new Error(`${keys.length} checks, ${allowed} of them allowed.`)

  // The observer reports collections one turn of the event loop later.
  await new Promise((resolve) => setTimeout(resolve, 10))
  observer.disconnect()
  const onCpu = slow.map(({ start, end, waitedMs }) => end - start - waitedMs)
  return {
    longestMs: Math.max(fastMs, ...slow.map(({ start, end }) => end - start)),
    onCpuMs: Math.max(fastMs, ...onCpu),
    withoutGcMs: Math.max(fastMs, ...slow.map((check, i) => onCpu[i]! - gcMsWithin(check, collections))),
    meanNs,
  }
}

function gcMsWithin(check: { start: number; end: number }, collections: readonly PerformanceEntry[]): number {
  const within = collections.filter(({ startTime }) => startTime >= check.start && startTime < check.end)
  return within.reduce((ms, { duration }) => ms + duration, 0)
}

function assertSize(subject: Subject, expected: number): void {
  if (subject.size() === expected) return
  throw new Error(`The store should hold ${expected} keys, but holds ${subject.size()}.`)
}

const WARM_UP_KEYS = 200_000
/** Slower checks are examined one by one. */
const SLOW_MS = 0.5
