import { createLimiter, fixedWindow, ManualClock, MemoryStore } from '@tidegate/core'
import { rateLimitHeaders, STANDARDS } from '@tidegate/http'
import { expect, it } from 'vitest'
import { exhaustedForMs, quotasOf } from './quota.js'

const now = Date.parse('2030-01-01T10:00:30Z')

it.each(STANDARDS)('reads the %s headers of @tidegate/http', (standard) => {
  const policy = fixedWindow({ limit: 100, window: '1m', name: 'per-user' })
  const store = new MemoryStore({ clock: new ManualClock(now) })
  const limiter = createLimiter({ policy, store })
  const decision = limiter.check('user:123', 60)
  const headers = new Headers(rateLimitHeaders([{ decision, policy }], [standard]))
  const expectedQuota = { limit: 100, remaining: 40, resetAfterMs: 30_000 }
  expect(quotasOf(headers, now)).toMatchObject([expectedQuota])

  const denied = { decision: limiter.check('user:123', 41), policy }
  expect(exhaustedForMs(quotasOf(new Headers(rateLimitHeaders([denied], [standard])), now))).toBeUndefined()
  limiter.check('user:123', 40)
  const nothingLeft = { decision: limiter.check('user:123'), policy }
  expect(exhaustedForMs(quotasOf(new Headers(rateLimitHeaders([nothingLeft], [standard])), now))).toBe(30_000)
})

it.each([
  [
    'several policies',
    { ratelimit: '"a";r=5;t=10, "b";r=0;t=60', 'ratelimit-policy': '"b";q=7;w=60, "a";q=9;w=30' },
    [
      { limit: 9, remaining: 5, resetAfterMs: 10_000, windowMs: 30_000 },
      { limit: 7, remaining: 0, resetAfterMs: 60_000, windowMs: 60_000 },
    ],
  ],
  [
    'a name with a comma, a quote and a semicolon in it',
    { ratelimit: '"a\\",;r=9";r=5;t=10;pk=:cHNzdA==:', 'ratelimit-policy': '"a\\",;r=9";q=10;qu="requests"' },
    [{ limit: 10, remaining: 5, resetAfterMs: 10_000 }],
  ],
  ['a name without quotes', { ratelimit: 'default;r=5;t=10' }, [{ remaining: 5, resetAfterMs: 10_000 }]],
  ['draft 7', { ratelimit: 'limit=100, remaining=50, reset=30' }, [{ limit: 100, remaining: 50 }]],
  [
    'draft 6 and the ones before it',
    { 'ratelimit-limit': '10, 10;w=1, 50;w=60', 'ratelimit-remaining': '9', 'ratelimit-reset': '1' },
    [{ limit: 10, remaining: 9, resetAfterMs: 1000 }],
  ],
  [
    'Unix seconds, by the clock of the server',
    { ...legacy('1893495700'), date: 'Tue, 01 Jan 2030 11:01:00 GMT' },
    [{ limit: 60, remaining: 59, resetAfterMs: 40_000 }],
  ],
  ['Unix milliseconds', legacy(String(now + 5000)), [{ resetAfterMs: 5000 }]],
  ['seconds from now', legacy('12'), [{ resetAfterMs: 12_000 }]],
  ['a time in the past', legacy('1000000000'), [{ resetAfterMs: 0 }]],
  [
    'a broken new header beside a good old one',
    { ratelimit: '"a";r=;t=1', ...legacy('12') },
    [{ remaining: 59, resetAfterMs: 12_000 }],
  ],
])('reads %s', (_title, headers, quotas) => {
  const found = quotasOf(new Headers(headers as Record<string, string>), now)
  expect(found).toHaveLength(quotas.length)
  expect(found).toMatchObject(quotas)
})

function legacy(reset: string): Record<string, string> {
  return { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': reset }
}

it.each([
  {},
  { ratelimit: '' },
  { ratelimit: '"a";r=5' },
  { ratelimit: '"a";t=5' },
  { ratelimit: '"a";r=-5;t=10' },
  { ratelimit: '"a;r=5;t=10' },
  { ratelimit: '"a";r=5;t=10,' },
  { ratelimit: '"a";r=5;t=10 "b";r=1;t=1' },
  { ratelimit: '"é";r=5;t=10' },
  { ratelimit: 'limit=100, remaining=, reset=30' },
  { ratelimit: 'limit=100, remaining=many, reset=30' },
  { ratelimit: '"a";r="5";t=1e3' },
  { ratelimit: `"a";r=${'9'.repeat(16)};t=1` },
  { 'x-ratelimit-remaining': '5' },
  { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '10' },
  { 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': 'tomorrow' },
])('ignores %j', (headers) => {
  expect(quotasOf(new Headers(headers as Record<string, string>), now)).toStrictEqual([])
})

it('reads a header in linear time', () => {
  const evil = `"${'\\"'.repeat(1_000_000)}`
  expect(quotasOf(new Headers({ ratelimit: evil, 'ratelimit-policy': evil }), now)).toStrictEqual([])
})
