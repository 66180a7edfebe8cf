import {
  createLimiter,
  fixedWindow,
  ManualClock,
  MemoryStore,
  type Policy,
  tokenBucket,
} from '@tidegate/core'
import { rateLimitHeaders, type Standard } from '@tidegate/http'
import { expect, it } from 'vitest'
import { createVirtualTime } from '../../test/virtual-time.js'
import type { Fetch } from '../fetch.js'
import { withBackoff } from './backoff.js'
import { createPace } from './pace.js'

const START = Date.parse('2030-01-01T10:00:00Z')

/** A server with this policy that reports it in its headers. */
function limitedBy(policy: Policy, now: () => number, standard: Standard) {
  const clock = new ManualClock(START)
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
  const answers: { atMs: number; status: number }[] = []
  const fetch: Fetch = async () => {
    clock.set(now())
    const decision = limiter.check('client')
    const status = decision.allowed ? 200 : 429
    answers.push({ atMs: now() - START, status })
    return new Response('', { status, headers: rateLimitHeaders([{ decision, policy }], [standard]) })
  }
  return { fetch, answers }
}

const policies = [
  fixedWindow({ limit: 10, window: '10s', name: 'window' }),
  tokenBucket({ capacity: 10, refillRate: 1, name: 'bucket' }),
]

for (const standard of ['legacy', 'draft-6', 'draft-7', 'draft-10'] as const) {
  for (const policy of policies) {
    it(`keeps one caller within a ${policy.algorithm} that reports by ${standard}`, async () => {
      const time = createVirtualTime(START)
      const { fetch, answers } = limitedBy(policy, time.now, standard)
      const { now, wait } = time
      const waits: number[] = []
      const paced = withBackoff(fetch, {
        pace: true,
        now,
        wait,
        onWait: ({ reason, waitMs }) => {
          expect(reason).toBe('pace')
          waits.push(waitMs)
        },
      })
      await time.run(
        (async () => {
          for (let i = 0; i < 60; i++) await paced('http://api.test/')
        })(),
      )
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(0)
      // A burst first, then evenly spread calls.
      expect(answers[4]!.atMs).toBe(0)
      expect(Math.max(...waits)).toBeLessThan(6000)
      // 60 calls at one a second, after a burst of 10, take at least 50 s, and pacing adds little.
      expect(answers.at(-1)!.atMs).toBeGreaterThan(40_000)
      expect(answers.at(-1)!.atMs).toBeLessThan(75_000)
    })
  }
}

it('spreads many concurrent callers over the windows they need', async () => {
  const time = createVirtualTime(START)
  const policy = fixedWindow({ limit: 10, window: '10s', name: 'window' })
  const { fetch, answers } = limitedBy(policy, time.now, 'draft-10')
  const paced = withBackoff(fetch, { pace: true, now: time.now, wait: time.wait })
  await time.run(paced('http://api.test/'))
  const responses = await time.run(Promise.all(Array.from({ length: 49 }, () => paced('http://api.test/'))))
  expect(responses.every(({ status }) => status === 200)).toBe(true)
  const denied = answers.filter(({ status }) => status === 429).length
  console.log(`50 calls, 10 every 10 s, at once: ${denied} denied, ${answers.at(-1)!.atMs} ms`)
  expect(denied).toBeLessThanOrEqual(5)
})

it('subtracts pending calls, which a response does not include', () => {
  const pace = createPace(() => 0)
  for (let i = 0; i < 6; i++) expect(pace.enter('http://api.test', START, 60_000)).toBe(0)
  pace.leave('http://api.test', START, [{ limit: 10, remaining: 6, resetAfterMs: 10_000, windowMs: 10_000 }])
  // Five calls are in flight: one unit is left, and two waits of the same length until there are more.
  expect(pace.enter('http://api.test', START, 60_000)).toBe(5000)
})

it('is off by default', async () => {
  const time = createVirtualTime(START)
  const { fetch, answers } = limitedBy(policies[0]!, time.now, 'draft-10')
  const patient = withBackoff(fetch, { now: time.now, wait: time.wait, maxAttempts: 1 })
  for (let i = 0; i < 11; i++) await time.run(patient('http://api.test/'))
  expect(answers.map(({ status }) => status)).toStrictEqual([...Array(10).fill(200), 429])
  expect(time.now()).toBe(START)
})

it('delays the other calls after a denial with a wait', async () => {
  const time = createVirtualTime(START)
  const calledMs: number[] = []
  const fetch: Fetch = async () => {
    calledMs.push(time.now() - START)
    return calledMs.length === 1
      ? new Response('', { status: 429, headers: { 'retry-after': '5' } })
      : new Response('')
  }
  const paced = withBackoff(fetch, { pace: true, now: time.now, wait: time.wait, maxAttempts: 1 })
  await time.run(paced('http://api.test/a'))
  await time.run(paced('http://other.test/'))
  await time.run(paced('http://api.test/b'))
  expect(calledMs[1]).toBe(0)
  expect(calledMs[2]).toBeGreaterThanOrEqual(5000)
})

it('sends a call immediately if it would wait too long, so that the server decides', async () => {
  const time = createVirtualTime(START)
  const fetch: Fetch = async () => new Response('', { headers: { ratelimit: '"a";r=0;t=3600' } })
  const paced = withBackoff(fetch, { pace: true, now: time.now, wait: time.wait })
  for (let i = 0; i < 3; i++) await time.run(paced('http://api.test/'))
  expect(time.now()).toBe(START)
})

it('ignores callers that have given up', async () => {
  const time = createVirtualTime(START)
  const { fetch } = limitedBy(policies[0]!, time.now, 'draft-10')
  const paced = withBackoff(fetch, { pace: true, now: time.now, wait: time.wait })
  for (let i = 0; i < 5; i++) await time.run(paced('http://api.test/'))
  const controllers = Array.from({ length: 50 }, () => new AbortController())
  const settled = Promise.allSettled(controllers.map(({ signal }) => paced('http://api.test/', { signal })))
  for (const controller of controllers) controller.abort(new Error('gone'))
  const results = await settled
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  await time.run(paced('http://api.test/'))
  expect(time.now()).toBe(START)
})

it('keeps a bounded number of origins', async () => {
  const time = createVirtualTime(START)
  const fetch: Fetch = async () => new Response('', { headers: { ratelimit: '"a";r=0;t=60' } })
  const waits: string[] = []
  const options = { now: time.now, wait: time.wait, onWait: ({ url }: { url: string }) => waits.push(url) }
  const paced = withBackoff(fetch, { pace: true, ...options })
  for (let i = 0; i <= 1000; i++) await paced(`http://host-${i}.test/`)
  await time.run(paced('http://host-1000.test/'))
  await time.run(paced('http://host-0.test/'))
  expect(waits).toStrictEqual(['http://host-1000.test/'])
})
