import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import type { Subject } from './core-contenders.js'
import type { PauseScenario } from './core-scenarios.js'
import { cpuWaitMs } from './cpu-wait.js'
import type { Figures } from './figures.js'
import { collectGarbage } from './garbage.js'
import { makeKeys } from './keys.js'

/**
 * The longest single check while a store grows, and while every check evicts a key: by the clock, since a caller waits
 * for all of it; and to know whom to blame, without waiting for a processor, and of that what is left without the garbage
 * collections that fell into it.
 */
export async function measurePauses(
  make: (maxKeys: number) => Subject,
  { keys: count }: PauseScenario,
): Promise<Figures> {
  // A small store first, of which most keys are evicted: the engine compiles what it runs, beside us and on
  // the same processors, and a server's engine has long done so.
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
  if (distinct !== keys.length) throw new Error(`${keys.length} keys were promised, ${distinct} were made.`)
  // The keys become old before the first check: what it costs to make them is not the store's.
  await collectGarbage()
  // The collector's own threads go on for a while.
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
    // Too dear to ask around every check. A wait worth knowing is in a slow check, or between two checks.
    if (i % 256 === 0) waitedBefore = cpuWaitMs()
    const key = keys[i]!
    const start = performance.now()
    const answer = subject.check(key)
    const end = performance.now()
    if (end - start > SLOW_MS) {
      const waited = cpuWaitMs()
      slow.push({ start, end, waitedMs: Math.max(0, waited - waitedBefore) })
      waitedBefore = waited
    } else if (end - start > fastMs) {
      fastMs = end - start
    }
    if (subject.isAllowed(answer)) allowed++
  }
  const meanNs = ((performance.now() - began) * 1e6) / keys.length
  if (allowed !== keys.length) throw new Error(`${keys.length} checks were asked, ${allowed} were allowed.`)

  // Collections are told a turn of the event loop later.
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
  throw new Error(`The store should hold ${expected} keys, it holds ${subject.size()}.`)
}

const WARM_UP_KEYS = 200_000
/** Only what is slower is looked at more closely. */
const SLOW_MS = 0.5
