import { createLimiter, ManualClock, MemoryStore, slidingWindowLog } from '@tidegate/core'
import { type Figures, median } from '../report/figures.js'
import type { LogScenario } from './core-scenarios.js'

/** Nanoseconds per check of one key with a full log: the best and the median batch. */
export function measureLog(contender: string, scenario: LogScenario): Figures {
  const { mode, batch, batches: count, limits } = scenario
  const limit = limits[contender]
  if (limit === undefined) throw new Error(`Unknown limit "${contender}".`)
  const clock = new ManualClock(Date.now())
  const limiter = createLimiter({
    policy: slidingWindowLog({ limit, window: WINDOW_MS }),
    store: new MemoryStore({ clock }),
  })
  // Each unit has its own timestamp: units of one time would be a single entry at any limit.
  const stepMs = WINDOW_MS / limit
  for (let i = 0; i < limit; i++) {
    clock.advance(stepMs)
    if (!limiter.check(KEY).allowed) throw new Error(`Set-up: unit ${i + 1} of ${limit} was denied.`)
  }
  const peeked = limiter.peek(KEY)
  if (peeked.allowed || peeked.retryAfterMs !== stepMs) {
    throw new Error(
      `Set-up: the log should be full for ${stepMs} ms, it is full for ${peeked.retryAfterMs} ms.`,
    )
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
    if (allowed !== expected)
      throw new Error(`${expected} of ${batch} checks should be allowed, ${allowed} were.`)
    return (ms * 1e6) / batch
  }
  run()
  const batches = Array.from({ length: count }, run)
  return { bestNs: Math.min(...batches), medianNs: median(batches) }
}

const KEY = 'user:1'
/** Divisible by every measured limit. */
const WINDOW_MS = 100_000
