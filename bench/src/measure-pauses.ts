import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import type { Subject } from './contenders.js'
import type { Figures } from './figures.js'
import { collectGarbage } from './garbage.js'
import { makeKeys } from './keys.js'
import type { PauseScenario } from './scenarios.js'

/**
 * The longest single check while a store grows, in a process that has not run it before, and while every
 * check evicts a key. A garbage collection is part of the check that it falls into: the caller waits for it.
 * What is left without it is told too, to know whom to blame.
 */
export async function measurePauses(subject: Subject, { keys: count }: PauseScenario): Promise<Figures> {
  const growth = await longestCheck(subject, makeKeys(count))
  const whileGrowing = {
    growthMs: growth.longestMs,
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
    evictionWithoutGcMs: eviction.withoutGcMs,
    evictionMeanNs: eviction.meanNs,
  }
}

interface Longest {
  longestMs: number
  withoutGcMs: number
  meanNs: number
}

async function longestCheck(subject: Subject, keys: readonly string[]): Promise<Longest> {
  const distinct = new Set(keys).size
  if (distinct !== keys.length) throw new Error(`${keys.length} keys were promised, ${distinct} were made.`)
  // The keys become old before the first check: what it costs to make them is not the store's.
  await collectGarbage()
  const collections: PerformanceEntry[] = []
  const observer = new PerformanceObserver((list) => collections.push(...list.getEntries()))
  observer.observe({ entryTypes: ['gc'] })

  const slow: { start: number; end: number }[] = []
  let longestMs = 0
  let allowed = 0
  const began = performance.now()
  for (const key of keys) {
    const start = performance.now()
    const answer = subject.check(key)
    const end = performance.now()
    if (end - start > longestMs) longestMs = end - start
    if (end - start > SLOW_MS) slow.push({ start, end })
    if (subject.isAllowed(answer)) allowed++
  }
  const meanNs = ((performance.now() - began) * 1e6) / keys.length
  if (allowed !== keys.length) throw new Error(`${keys.length} checks were asked, ${allowed} were allowed.`)

  // Collections are told a turn of the event loop later.
  await new Promise((resolve) => setTimeout(resolve, 10))
  observer.disconnect()
  const withoutGc = slow.map(({ start, end }) => end - start - gcWithin(collections, start, end))
  return { longestMs, withoutGcMs: Math.max(Math.min(longestMs, SLOW_MS), ...withoutGc), meanNs }
}

function gcWithin(collections: readonly PerformanceEntry[], start: number, end: number): number {
  let ms = 0
  for (const { startTime, duration } of collections) {
    if (startTime >= start && startTime < end) ms += duration
  }
  return ms
}

function assertSize(subject: Subject, expected: number): void {
  if (subject.size() === expected) return
  throw new Error(`The store should hold ${expected} keys, it holds ${subject.size()}.`)
}

/** Only what is slower is looked at again. */
const SLOW_MS = 0.5
