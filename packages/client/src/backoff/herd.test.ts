import { createLimiter, ManualClock, MemoryStore, tokenBucket } from '@tidegate/core'
import { randomFrom } from '@tidegate/core/testing'
import { rateLimitHeaders } from '@tidegate/http'
import { expect, it } from 'vitest'
import { createVirtualTime } from '../../test/virtual-time.js'
import type { Fetch } from '../fetch.js'
import { withBackoff } from './backoff.js'

const START = Date.parse('2030-01-01T10:00:00Z')
const CLIENTS = 1000

/** A thousand clients call at the same time. Records the responses and the times of the retries. */
async function herd(random: () => number) {
  const time = createVirtualTime(START)
  const clock = new ManualClock(START)
  const policy = tokenBucket({ capacity: 50, refillRate: 100, name: 'all' })
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
  /** When each client may retry, by its last response. */
  const mayComeMs = new Map<string, number>()
  const cameBackMs: number[] = []
  let early = 0
  let deniedFirst = 0

  const fetch: Fetch = async (input) => {
    const client = String(input)
    clock.set(time.now())
    const decision = limiter.check('all')
    const before = mayComeMs.get(client)
    if (before !== undefined) {
      cameBackMs.push(time.now() - START)
      if (time.now() < before) early++
    } else if (!decision.allowed) deniedFirst++
    const headers = rateLimitHeaders([{ decision, policy }], ['draft-10'])
    mayComeMs.set(client, time.now() + Number(headers['Retry-After'] ?? 0) * 1000)
    return new Response('', { status: decision.allowed ? 200 : 429, headers })
  }
  const { now, wait } = time
  const statuses = await time.run(
    Promise.all(
      Array.from({ length: CLIENTS }, async (_, i) => {
        const patient = withBackoff(fetch, { now, wait, random, maxAttempts: 20 })
        return (await patient(`http://api.test/${i}`)).status
      }),
    ),
  )
  const inSlot = new Map<number, number>()
  for (const ms of cameBackMs) inSlot.set(Math.floor(ms / 100), (inSlot.get(Math.floor(ms / 100)) ?? 0) + 1)
  return { statuses, early, deniedFirst, cameBackMs, most: Math.max(...inSlot.values()), inSlot }
}

it('1,000 clients denied at the same time retry at different times, and none too early', async () => {
  const spread = await herd(randomFrom(2026).fraction)
  const together = await herd(() => 0)

  const sorted = spread.cameBackMs.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))]
  console.log(
    [
      `${spread.deniedFirst} of ${CLIENTS} clients denied at once; they returned ${sorted.length} times,`,
      `from ${at(0)?.toFixed(0)} to ${at(1)?.toFixed(0)} ms (10 % by ${at(0.1)?.toFixed(0)}, half by ${at(0.5)?.toFixed(0)}, 90 % by ${at(0.9)?.toFixed(0)}),`,
      `at most ${spread.most} in 100 ms, ${spread.early} early.`,
      `Without the random part: ${together.cameBackMs.length} times, at most ${together.most} in 100 ms, ${together.early} early.`,
    ].join('\n  '),
  )
  const firstSecond = Array.from({ length: 10 }, (_, i) => spread.inSlot.get(10 + i) ?? 0)
  console.log(`  first retries, per 100 ms from 1,000 ms on: ${firstSecond.join(' ')}`)

  expect(spread.deniedFirst).toBe(CLIENTS - 50)
  expect(spread.early).toBe(0)
  expect(together.early).toBe(0)
  expect(spread.statuses.every((status) => status === 200)).toBe(true)
  // Without the random part all clients retry in the same tenth of a second; with it, they are spread.
  expect(together.most).toBe(CLIENTS - 50)
  expect(spread.most).toBeLessThan((CLIENTS - 50) / 5)
  expect(Math.min(...firstSecond)).toBeGreaterThan((CLIENTS - 50) / 20)
})
