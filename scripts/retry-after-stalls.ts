// Setup of test suites that start processes. A host that shares its cores takes a virtual machine's processor away for
// up to a few hundred milliseconds, and a deadline of 50 ms then passes in a healthy system. A test that failed during a stall is
// repeated; the report names it. On a machine without such stalls, only `retriesInAnyCase` repeats a test.
import { readFileSync } from 'node:fs'
import { afterAll, beforeEach, inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Retries of a failed test for which no stall is needed. */
    retriesInAnyCase: number
  }
}

const SAMPLE_MS = 20
const STALL_MS = 30
/** Linux counts processor time in units of 1/100 s. */
const MS_PER_TICK = 10

let longestStallMs = 0
let before = stolenMs()
const sampler = setInterval(sample, SAMPLE_MS)
sampler.unref()
afterAll(() => clearInterval(sampler))

beforeEach(({ task }) => {
  sample()
  longestStallMs = 0
  const { retry } = task
  if (retry === undefined) return
  const count = typeof retry === 'number' ? retry : (retry.count ?? 0)
  // The configuration is sent to the workers as text, so that a function can only be added here.
  Object.assign(task, { retry: { count, condition: isWorthARetry } })

  function isWorthARetry(): boolean {
    sample()
    return (task.result?.retryCount ?? 0) < inject('retriesInAnyCase') || longestStallMs >= STALL_MS
  }
})

function sample(): void {
  const now = stolenMs()
  for (const [cpu, ms] of now.entries()) longestStallMs = Math.max(longestStallMs, ms - (before[cpu] ?? ms))
  before = now
}

/** The time that the host has taken from each processor; empty where the system does not count it. */
function stolenMs(): number[] {
  let text = ''
  try {
    text = readFileSync('/proc/stat', 'latin1')
  } catch {}
  return [...text.matchAll(/^cpu\d+((?: \d+)+)$/gm)].map(
    ([, times = '']) => Number(times.trim().split(' ')[7] ?? 0) * MS_PER_TICK,
  )
}
