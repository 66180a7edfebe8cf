import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Store, TidegateError, tokenBucket } from '@tidegate/core'
import type { NaiveCounter } from './naive-counter.js'

export interface RaceOptions {
  readonly store: Store
  readonly counter: NaiveCounter
  /** How many ask at the same moment, each once. */
  readonly callers: number
  readonly limit: number
}

export interface RaceResult {
  readonly naive: Finish
  readonly ours: Finish
}

interface Finish {
  readonly admitted: number
  /** Beyond the limit. */
  readonly tooMany: number
  readonly tookMs: number
}

/** The same callers at the same moment, by a limiter that reads and then writes, and by the store's own check. */
export async function race({ store, counter, callers, limit }: RaceOptions): Promise<RaceResult> {
  const id = randomUUID()
  // Nothing comes back while the race runs.
  const policy = tokenBucket({ name: 'tidegate-race', capacity: limit, refillRate: '1/1d' })

  async function askNaive(): Promise<boolean> {
    const count = await counter.read(id)
    if (counter.pauseMs > 0) await sleep(counter.pauseMs)
    if (count >= limit) return false
    await counter.write(id, count + 1)
    return true
  }

  async function askOurs(): Promise<boolean> {
    const { allowed, degraded } = await store.check({ policy, key: id, cost: 1 })
    // Without the store it would be a race of something else.
    if (degraded !== undefined)
      throw new TidegateError('STORE_FAILED', 'The store did not answer while the race ran.')
    return allowed
  }

  async function run(ask: () => Promise<boolean>): Promise<Finish> {
    const start = performance.now()
    const answers = await Promise.all(Array.from({ length: callers }, ask))
    const admitted = answers.filter(Boolean).length
    return {
      admitted,
      tooMany: Math.max(0, admitted - limit),
      tookMs: Math.round((performance.now() - start) * 1000) / 1000,
    }
  }

  try {
    return { naive: await run(askNaive), ours: await run(askOurs) }
  } finally {
    await Promise.allSettled([counter.forget(id), store.reset({ policy, key: id })])
  }
}
