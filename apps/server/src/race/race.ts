import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Store, TidegateError, tokenBucket } from '@tidegate/core'
import type { NaiveCounter } from './naive-counter.js'

export interface RaceOptions {
  readonly store: Store
  readonly counter: NaiveCounter
  /** Number of concurrent checks. */
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

/** Runs concurrent checks by a naive limiter, which reads and then writes, and by the store's own check. */
export async function race({ store, counter, callers, limit }: RaceOptions): Promise<RaceResult> {
  const id = randomUUID()
  // Refills no unit during the race.
  const policy = tokenBucket({ name: 'tidegate-race', capacity: limit, refillRate: '1/1d' })

  async function checkNaively(): Promise<boolean> {
    const count = await counter.read(id)
    if (counter.pauseMs > 0) await sleep(counter.pauseMs)
    if (count >= limit) return false
    await counter.write(id, count + 1)
    return true
  }

  async function checkInStore(): Promise<boolean> {
    const { allowed, degraded } = await store.check({ policy, key: id, cost: 1 })
    // A decision of the fallback does not test the store.
    if (degraded !== undefined)
      throw new TidegateError('STORE_FAILED', 'The store was unavailable during the race.')
    return allowed
  }

  async function run(check: () => Promise<boolean>): Promise<Finish> {
    const start = performance.now()
    const results = await Promise.all(Array.from({ length: callers }, check))
    const admitted = results.filter(Boolean).length
    return {
      admitted,
      tooMany: Math.max(0, admitted - limit),
      tookMs: Math.round((performance.now() - start) * 1000) / 1000,
    }
  }

  try {
    return { naive: await run(checkNaively), ours: await run(checkInStore) }
  } finally {
    await Promise.allSettled([counter.delete(id), store.reset({ policy, key: id })])
  }
}
