import type { Subject } from './contenders.js'
import { collectGarbage } from './garbage.js'
import { makeKeys } from './keys.js'
import type { PauseScenario } from './scenarios.js'

/**
 * The longest single check while a store grows, from a process that has not run it before, and while
 * every check evicts a key.
 */
export async function measurePauses(
  name: string,
  subject: Subject,
  { keys: count }: PauseScenario,
): Promise<{ growthMs: number; evictionMs: number }> {
  // Made, and moved to where old objects live, before: the garbage of making keys is the caller's own.
  const keys = makeKeys(2 * count)
  const distinct = new Set(keys).size
  if (distinct !== 2 * count) throw new Error(`${2 * count} keys were promised, ${distinct} were made.`)
  await collectGarbage()

  const growthMs = longestCheck(subject, keys, 0, count)
  if (name === 'nothing') return { growthMs, evictionMs: longestCheck(subject, keys, count, 2 * count) }
  assertSize(subject, count)
  // A map has no bound: it would only grow on.
  if (name === 'bare Map') return { growthMs, evictionMs: 0 }
  const evictionMs = longestCheck(subject, keys, count, 2 * count)
  assertSize(subject, count)
  return { growthMs, evictionMs }
}

function longestCheck(subject: Subject, keys: readonly string[], from: number, to: number): number {
  let longest = 0
  let allowed = 0
  for (let i = from; i < to; i++) {
    const key = keys[i]!
    const start = performance.now()
    const answer = subject.check(key)
    const ms = performance.now() - start
    if (ms > longest) longest = ms
    if (subject.isAllowed(answer)) allowed++
  }
  if (allowed !== to - from) throw new Error(`${to - from} checks were asked, ${allowed} were allowed.`)
  return longest
}

function assertSize(subject: Subject, expected: number): void {
  if (subject.size() === expected) return
  throw new Error(`The store should hold ${expected} keys, it holds ${subject.size()}.`)
}
