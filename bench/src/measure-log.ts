import { createLimiter, ManualClock, MemoryStore, slidingWindowLog } from '@tidegate/core'
import type { LogScenario } from './core-scenarios.js'
import { type Figures, median } from './figures.js'

/** Nanoseconds per check of one key whose log is full, the best and the median of the batches. */
export function measureLog(contender: string, scenario: LogScenario): Figures {
  const { mode, batch, batches: count, limits } = scenario
  const limit = limits[contender]
  if (limit === undefined) throw new Error(`There is no limit "${contender}".`)
  const clock = new ManualClock(Date.now())
  const limiter = createLimiter({
    policy: slidingWindowLog({ limit, window: WINDOW_MS }),
    store: new MemoryStore({ clock }),
  })
  // As many moments as units: had they come all at once, the log would be one run, whatever its limit.
  const stepMs = WINDOW_MS / limit
  for (let i = 0; i < limit; i++) {
    clock.advance(stepMs)
    if (!limiter.check(KEY).allowed) throw new Error(`Set-up: unit ${i + 1} of ${limit} was refused.`)
  }
  const look = limiter.peek(KEY)
  if (look.allowed || look.retryAfterMs !== stepMs) {
    throw new Error(`Set-up: the log should be full for ${stepMs} ms, it is for ${look.retryAfterMs} ms.`)
  }

  const advanceMs = mode === 'steady' ? stepMs : 0
  function run(): number {
    let allowed = 0
    const start = performance.now()
    for (let i = 0; i < batch; i++) {
      clock.advance(advanceMs)
      if (limiter.check(KEY).allowed) allowed++
    }
    const ms = performance.now() - start
    const expected = mode === 'steady' ? batch : 0
    if (allowed !== expected) throw new Error(`${expected} of ${batch} should be allowed, ${allowed} were.`)
    return (ms * 1e6) / batch
  }
  run()
  const batches = Array.from({ length: count }, run)
  return { bestNs: Math.min(...batches), medianNs: median(batches) }
}

const KEY = 'user:1'
/** Divided by any limit that is measured, whole milliseconds. */
const WINDOW_MS = 100_000
