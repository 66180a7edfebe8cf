import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  ManualClock,
  MemoryStore,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  TidegateError,
  tokenBucket,
} from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds } from '../../test/properties.js'
import {
  assertStandards,
  draft6Headers,
  draft7Headers,
  draft8Headers,
  draft10Headers,
  legacyHeaders,
  type ReportedLimit,
  rateLimitHeaders,
  retryAfterSeconds,
  STANDARDS,
} from './headers.js'

const perUser = fixedWindow({ limit: 100, window: '1m', name: 'per-user' })
const everybody = tokenBucket({ capacity: 1000, refillRate: 10, name: 'everybody' })

/** A limit with half of its units left, with these changes. */
function limit(policy: Policy, different: Partial<Decision> = {}): ReportedLimit {
  const decision: Decision = {
    allowed: true,
    limit: policy.limit,
    cost: 1,
    remaining: policy.limit / 2,
    retryAfterMs: 0,
    resetAfterMs: 30_000,
    delayMs: 0,
    timeMs: 1_800_000_000_000,
    policy: policy.name,
    ...different,
  }
  return { decision, policy }
}

const denied = { allowed: false, remaining: 0, retryAfterMs: 1500, resetAfterMs: 45_000 }

describe('the headers of one limit', () => {
  it.each([
    [
      'legacy',
      legacyHeaders,
      { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '50', 'X-RateLimit-Reset': '1800000030' },
      { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1800000045' },
    ],
    [
      'draft 6',
      draft6Headers,
      {
        'RateLimit-Limit': '100',
        'RateLimit-Remaining': '50',
        'RateLimit-Reset': '30',
        'RateLimit-Policy': '100;w=60',
      },
      {
        'RateLimit-Limit': '100',
        'RateLimit-Remaining': '0',
        'RateLimit-Reset': '2',
        'RateLimit-Policy': '100;w=60',
      },
    ],
    [
      'draft 7',
      draft7Headers,
      { RateLimit: 'limit=100, remaining=50, reset=30', 'RateLimit-Policy': '100;w=60' },
      { RateLimit: 'limit=100, remaining=0, reset=2', 'RateLimit-Policy': '100;w=60' },
    ],
    [
      'draft 8',
      draft8Headers,
      { RateLimit: '"per-user";r=50;t=30', 'RateLimit-Policy': '"per-user";q=100;w=60' },
      { RateLimit: '"per-user";r=0;t=2', 'RateLimit-Policy': '"per-user";q=100;w=60' },
    ],
    [
      'draft 10',
      draft10Headers,
      { RateLimit: '"per-user";r=50;t=30', 'RateLimit-Policy': '"per-user";q=100;w=60' },
      { RateLimit: '"per-user";r=0;t=2', 'RateLimit-Policy': '"per-user";q=100;w=60' },
    ],
  ])('%s: allowed, denied, degraded, no limits', (_title, headers, whenAllowed, whenDenied) => {
    expect(headers([limit(perUser)])).toStrictEqual(whenAllowed)
    expect(headers([limit(perUser, denied)])).toStrictEqual(whenDenied)
    const names = Object.keys(headers([limit(perUser, { degraded: 'open' })]))
    expect(names).toStrictEqual(Object.keys(whenAllowed).filter((name) => name.endsWith('-Limit')))
    expect(headers([])).toStrictEqual({})
  })

  it('of a concurrency policy have its unit, and a wait of one second', () => {
    const slots = concurrency({ limit: 4, name: 'exports' })
    expect(rateLimitHeaders([limit(slots)], ['legacy', 'draft-10'])).toStrictEqual({
      'X-RateLimit-Limit': '4',
      'X-RateLimit-Remaining': '2',
      'X-RateLimit-Reset': '1800000001',
      RateLimit: '"exports";r=2;t=1',
      'RateLimit-Policy': '"exports";q=4;qu="concurrent-requests"',
    })
    const deniedSlot = limit(slots, { ...denied, retryAfterMs: 25_000, reason: 'slot' })
    expect(rateLimitHeaders([deniedSlot], ['draft-7'])).toStrictEqual({
      RateLimit: 'limit=4, remaining=0, reset=1',
      'RateLimit-Policy': '4;qu="concurrent-requests"',
      'Retry-After': '1',
    })
    // A rate limit that denies too has the longer wait.
    const both = [deniedSlot, limit(perUser, denied)]
    expect(rateLimitHeaders(both, [])).toStrictEqual({ 'Retry-After': '2' })
    const unused = limit(slots, { remaining: 4, resetAfterMs: 0 })
    expect(rateLimitHeaders([unused], ['draft-8']).RateLimit).toBe('"exports";r=4;t=0')
  })

  it('include every requested standard, and Retry-After for a denied request', () => {
    expect(rateLimitHeaders([limit(perUser)], ['legacy', 'draft-10'])).toStrictEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '50',
      'X-RateLimit-Reset': '1800000030',
      RateLimit: '"per-user";r=50;t=30',
      'RateLimit-Policy': '"per-user";q=100;w=60',
    })
    expect(rateLimitHeaders([limit(perUser, denied)], ['draft-7'])).toStrictEqual({
      RateLimit: 'limit=100, remaining=0, reset=2',
      'RateLimit-Policy': '100;w=60',
      'Retry-After': '2',
    })
    expect(rateLimitHeaders([limit(perUser, denied)], [])).toStrictEqual({ 'Retry-After': '2' })
    expect(rateLimitHeaders([], ['legacy', 'draft-6', 'draft-7', 'draft-8', 'draft-10'])).toStrictEqual({})
  })

  it('name the unit of drafts 8 and 10 unless it is requests', () => {
    const tokens = { ...limit(perUser), unit: 'tokens' }
    expect(draft10Headers([tokens])['RateLimit-Policy']).toBe('"per-user";q=100;w=60;qu="tokens"')
    expect(draft8Headers([limit(everybody), tokens])['RateLimit-Policy']).toMatch(
      /, "per-user";q=100;w=60;qu="tokens"$/,
    )
    expect(draft7Headers([tokens])['RateLimit-Policy']).toBe('100;w=60')
  })

  it('match the decision of a real limiter', () => {
    const store = new MemoryStore({ clock: new ManualClock(1_800_000_010_250) })
    const policy = fixedWindow({ limit: 2, window: '1m', name: 'two' })
    const limiter = createLimiter({ policy, store })
    const rows = [1, 2, 3].map(() =>
      rateLimitHeaders([{ decision: limiter.check('a'), policy }], ['legacy', 'draft-10']),
    )
    expect(rows.map((row) => [row.RateLimit, row['X-RateLimit-Reset'], row['Retry-After']])).toStrictEqual([
      ['"two";r=1;t=50', '1800000060', undefined],
      ['"two";r=0;t=50', '1800000060', undefined],
      ['"two";r=0;t=50', '1800000060', '50'],
    ])
  })
})

describe('the headers of several limits', () => {
  const list = (...limits: ReportedLimit[]) => draft10Headers(limits)
  const one = (...limits: ReportedLimit[]) => legacyHeaders(limits)['X-RateLimit-Limit']

  it('list all of them', () => {
    const [a, b] = [limit(everybody, { remaining: 900 }), limit(perUser, denied)]
    expect(list(a, b)).toStrictEqual({
      RateLimit: '"everybody";r=900;t=30, "per-user";r=0;t=2',
      'RateLimit-Policy': '"everybody";q=1000;w=100, "per-user";q=100;w=60',
    })
    expect(draft7Headers([a, b])['RateLimit-Policy']).toBe('1000;w=100, 100;w=60')
  })

  it('list a policy with two keys once', () => {
    expect(list(limit(perUser, { remaining: 7 }), limit(perUser))).toStrictEqual({
      RateLimit: '"per-user";r=7;t=30, "per-user";r=50;t=30',
      'RateLimit-Policy': '"per-user";q=100;w=60',
    })
    expect(list(limit(perUser), limit(perUser)).RateLimit).toBe('"per-user";r=50;t=30')
  })

  it('with a single limit show the one with the smallest remaining fraction', () => {
    expect(one(limit(everybody, { remaining: 90 }), limit(perUser, { remaining: 10 }))).toBe('1000')
    expect(one(limit(everybody, { remaining: 90 }), limit(perUser, { remaining: 8 }))).toBe('100')
    expect(one(limit(perUser, { remaining: 8 }), limit(everybody, { remaining: 90 }))).toBe('100')
    expect(one(limit(perUser), limit(everybody))).toBe('100')
  })

  it('show the denying limit with the longest wait', () => {
    const short = limit(perUser, { ...denied, retryAfterMs: 1000 })
    const long = limit(everybody, { ...denied, retryAfterMs: 1001 })
    const full = limit(fixedWindow({ limit: 7, window: '1h' }), { remaining: 0 })
    expect(one(short, long, full)).toBe('1000')
    expect(one(full, long, short)).toBe('1000')
    expect(one(full, short)).toBe('100')
    expect(rateLimitHeaders([short, long, full], [])['Retry-After']).toBe('2')
  })
})

describe('a degraded response', () => {
  it('shows the limit and the fallback, and no invented numbers', () => {
    expect(rateLimitHeaders([limit(perUser, { degraded: 'open' })], ['legacy', 'draft-10'])).toStrictEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Degraded': 'open',
    })
    expect(rateLimitHeaders([limit(perUser, { degraded: 'local' })], ['draft-10'])).toStrictEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Degraded': 'local',
    })
  })

  it('still has Retry-After', () => {
    const closed = limit(perUser, { ...denied, degraded: 'closed' })
    expect(rateLimitHeaders([closed], ['legacy'])).toStrictEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Degraded': 'closed',
      'Retry-After': '2',
    })
  })

  it('is degraded if one limit is, in the strictest way', () => {
    const degraded = (...ways: Decision['degraded'][]) => {
      const limits = ways.map((way) => limit(perUser, way === undefined ? {} : { degraded: way }))
      return rateLimitHeaders(limits, ['draft-10'])['X-RateLimit-Degraded']
    }
    expect(degraded(undefined, 'open')).toBe('open')
    expect(degraded('open', 'local')).toBe('local')
    expect(degraded('local', 'open', undefined)).toBe('local')
    expect(degraded('local', 'closed', 'open')).toBe('closed')
    expect(degraded(undefined, undefined)).toBeUndefined()
  })
})

describe('a leased decision', () => {
  const leased = { leased: true, leasedAtMs: 1_800_000_000_000 } as const

  it('has X-RateLimit-Leased beside all other headers', () => {
    const { 'X-RateLimit-Leased': value, ...others } = rateLimitHeaders(
      [limit(perUser, leased)],
      ['draft-10'],
    )
    expect(value).toBe('true')
    expect(others).toStrictEqual(rateLimitHeaders([limit(perUser)], ['draft-10']))
  })

  it('is reported if one limit of several is leased', () => {
    const headerOf = (...limits: ReportedLimit[]) =>
      rateLimitHeaders(limits, ['legacy'])['X-RateLimit-Leased']
    expect(headerOf(limit(perUser), limit(everybody, leased))).toBe('true')
    expect(headerOf(limit(perUser), limit(everybody))).toBeUndefined()
  })
})

describe('seconds', () => {
  it.each([
    [0.001, 1],
    [1, 1],
    [1000, 1],
    [1000.001, 2],
    [1999.999, 2],
    [2000, 2],
    [59_999.5, 60],
    [0, 1], // denied without a wait: at least one second
    [1_296_000_000, 1_296_000],
  ])('a wait of %d ms is Retry-After: %d', (retryAfterMs, seconds) => {
    const shown = limit(perUser, { ...denied, retryAfterMs })
    expect(retryAfterSeconds(shown.decision)).toBe(seconds)
    expect(rateLimitHeaders([shown], ['draft-10'])).toMatchObject({
      'Retry-After': String(seconds),
      RateLimit: `"per-user";r=0;t=${seconds}`,
    })
  })

  it('are 0 for a decision that allows', () => {
    expect(retryAfterSeconds(limit(perUser).decision)).toBe(0)
  })

  it('of the reset are rounded up, of the sum and not of its parts', () => {
    const reset = (timeMs: number, resetAfterMs: number) =>
      legacyHeaders([limit(perUser, { timeMs, resetAfterMs })])['X-RateLimit-Reset']
    expect(reset(1_800_000_000_500, 500)).toBe('1800000001')
    expect(reset(1_800_000_000_500, 500.001)).toBe('1800000002')
    expect(reset(1_800_000_000_000.001, 999.999)).toBe('1800000001')
    expect(reset(1_800_000_000_000.1, 0.2)).toBe('1800000001')
    expect(draft10Headers([limit(perUser, { resetAfterMs: 0 })]).RateLimit).toBe('"per-user";r=50;t=0')
  })

  it.each([
    [fixedWindow({ limit: 100, window: '1m' }), 60],
    [slidingWindowLog({ limit: 100, window: '1h' }), 3600],
    [slidingWindowCounter({ limit: 100, window: '1d' }), 86_400],
    [fixedWindow({ limit: 100, window: '1ms' }), 1],
    [fixedWindow({ limit: 100, window: '1000ms' }), 1],
    [fixedWindow({ limit: 100, window: '1001ms' }), 2],
    [tokenBucket({ capacity: 100, refillRate: '100/1m' }), 60],
    [tokenBucket({ capacity: 10, refillRate: 3 }), 4],
    [tokenBucket({ capacity: 1, refillRate: 1000 }), 1],
    [tokenBucket({ capacity: 100, refillRate: 10 }), 10],
    [leakyBucket({ capacity: 5, leakRate: 0.1 }), 50],
    // 1 + 1/3,000,000 seconds: not one microsecond, but more than a second
    [leakyBucket({ capacity: 3_000_001, leakRate: 3_000_000 }), 2],
  ])('of the window of %o are %d', (policy, seconds) => {
    expect(draft10Headers([limit(policy)])['RateLimit-Policy']).toMatch(new RegExp(`;w=${seconds}$`))
    expect(draft6Headers([limit(policy)])['RateLimit-Policy']).toBe(`${policy.limit};w=${seconds}`)
  })
})

describe('with any decision', () => {
  it('numbers are whole, not negative, and of 15 digits at most', () => {
    const odd = fc.oneof(
      fc.double(),
      fc.constantFrom(0, -1, 0.5, 1e15, 1e21, 999_999_999_999_999, Number.NaN, Number.POSITIVE_INFINITY),
      fc.nat(),
    )
    const decision = fc.record({
      allowed: fc.boolean(),
      limit: odd,
      remaining: odd,
      retryAfterMs: odd,
      resetAfterMs: odd,
      timeMs: odd,
    })
    holds(fc.array(decision, { minLength: 1, maxLength: 3 }), (decisions) => {
      const limits = decisions.map((different, i) => limit(i === 0 ? perUser : everybody, different))
      const item = /^"[a-z-]+";r=\d{1,15};t=\d{1,15}$/
      for (const text of draft10Headers(limits).RateLimit!.split(', ')) expect(text).toMatch(item)
      expect(draft7Headers(limits).RateLimit).toMatch(/^limit=\d{1,15}, remaining=\d{1,15}, reset=\d{1,15}$/)
      for (const text of Object.values(legacyHeaders(limits))) expect(text).toMatch(/^\d{1,15}$/)
      const retryAfter = rateLimitHeaders(limits, ['legacy'])['Retry-After']
      const isAllowed = decisions.every(({ allowed }) => allowed)
      if (isAllowed) expect(retryAfter).toBeUndefined()
      else expect(retryAfter).toMatch(/^[1-9]\d{0,14}$/)
    })
  })

  it('the largest number is the largest of a structured field', () => {
    const huge = limit(perUser, { remaining: 1e18, resetAfterMs: 1e30 })
    expect(draft10Headers([huge]).RateLimit).toBe('"per-user";r=999999999999999;t=999999999999999')
  })

  it('names are quoted, and cannot end the quotes', () => {
    // No policy can have such a name, but a policy-like object can.
    const named = (name: string) =>
      draft10Headers([limit({ ...perUser, limit: 1, windowUs: 1e6, name } as Policy)])
    expect(named('a"b\\c')['RateLimit-Policy']).toBe('"a\\"b\\\\c";q=1;w=1')
    expect(named('a\r\nSet-Cookie: b=é').RateLimit).toBe('"a??Set-Cookie: b=?";r=0;t=30')
  })
})

describe('the standards', () => {
  it.each([[[...STANDARDS.slice(0, 3)]], [['legacy', 'draft-10']], [['draft-8', 'draft-10']], [[]]])(
    'can be %o',
    (value) => {
      expect(() => assertStandards(value)).not.toThrow()
    },
  )

  it.each<[unknown, string]>([
    ['draft-10', "['legacy', 'draft-10']"],
    [['draft-9'], 'got ["draft-9"]'],
    [['legacy', '__proto__'], '"__proto__"'],
    [[undefined], 'legacy, draft-6, draft-7, draft-8, draft-10'],
    [['draft-7', 'draft-10'], 'whose RateLimit-Policy differs'],
    [['draft-6', 'legacy', 'draft-8'], 'whose RateLimit-Policy differs'],
  ])('cannot be %o', (value, message) => {
    const check = () => assertStandards(value)
    expect(check).toThrow(TidegateError)
    expect(check).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', field: 'standards' }))
    expect(check).toThrow(message)
  })
})
