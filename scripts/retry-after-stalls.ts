// Setup of test suites that start processes. A host that shares its cores takes a virtual machine's processor away for
// up to a few hundred milliseconds, as do other programs on a busy machine, and a deadline of 50 ms then passes in a healthy
// system. A test that failed during a stall is repeated; the report names it. On a machine without stalls, only
// `retriesInAnyCase` repeats a test.
import { readFileSync } from 'node:fs'
import { afterAll, beforeEach, inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Retries of a failed test for which no stall is needed. */
    retriesInAnyCase: number
  }
}

const SAMPLE_MS = 20
/** The shortest time without a processor that counts as a stall. */
const STOLEN_MS = 30
/** The shortest delay of the event loop that counts as a stall. */
const LATE_MS = 50
/** Linux counts processor time in units of 1/100 s. */
const MS_PER_TICK = 10

/** Not that of a test with fake timers. */
const clock = performance.now.bind(performance)
let hasStalled = false
let before = stolenMs()
let beforeMs = clock()
const sampler = setInterval(sample, SAMPLE_MS)
sampler.unref()
afterAll(() => clearInterval(sampler))

beforeEach(({ task }) => {
  sample()
  hasStalled = false
  const { retry } = task
  if (retry === undefined) return
  const count = typeof retry === 'number' ? retry : (retry.count ?? 0)
  // The configuration is sent to the workers as text, so that a function can only be added here.
  Object.assign(task, { retry: { count, condition: isWorthARetry } })

  function isWorthARetry(): boolean {
    sample()
    return (task.result?.retryCount ?? 0) < inject('retriesInAnyCase') || hasStalled
  }
})

function sample(): void {
  const now = stolenMs()
  const nowMs = clock()
  const isStolen = now.some((ms, cpu) => ms - (before[cpu] ?? ms) >= STOLEN_MS)
  if (isStolen || nowMs - beforeMs >= SAMPLE_MS + LATE_MS) hasStalled = true
  before = now
  beforeMs = nowMs
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
