import { createLimiter, fixedWindow, ManualClock, MemoryStore } from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import { holds, hostileText } from '../../test/properties.js'
import { deniedResponse, prefersProblem, unavailableResponse } from './error-response.js'

const perMinute = fixedWindow({ limit: 1, window: '1m', name: 'per-minute' })
const perHour = fixedWindow({ limit: 1, window: '1h', name: 'per-hour' })
const [plain, problem] = [{ format: 'plain' }, { format: 'problem' }] as const

/** Both limits after an allowed check: each denies until its window ends. */
function deniedBy(...policies: (typeof perMinute)[]) {
  const store = new MemoryStore({ clock: new ManualClock(Date.parse('2030-01-01T10:00:00.250Z')) })
  return policies.map((policy) => {
    const limiter = createLimiter({ policy, store })
    limiter.check('a')
    return { policy, decision: limiter.check('a') }
  })
}

describe('deniedResponse()', () => {
  it('is a small JSON object with the format plain', () => {
    expect(deniedResponse(deniedBy(perMinute), plain)).toStrictEqual({
      status: 429,
      contentType: 'application/json',
      body: {
        error: 'rate_limit_exceeded',
        message: 'Too many requests. Please retry after 60 seconds.',
        retry_after: 60,
      },
      retryAfterSeconds: 60,
    })
  })

  it('is a problem of RFC 9457', () => {
    expect(deniedResponse(deniedBy(perMinute, perHour), { ...problem, instance: '/login' })).toStrictEqual({
      status: 429,
      contentType: 'application/problem+json',
      body: {
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 429,
        detail: 'Too many requests. Please retry after 3600 seconds.',
        instance: '/login',
        'violated-policies': ['per-minute', 'per-hour'],
        retry_after: 3600,
      },
      retryAfterSeconds: 3600,
    })
  })

  it('names only the denying policies, each once, and omits a missing instance', () => {
    const [minute] = deniedBy(perMinute)
    const allowed = { policy: perHour, decision: { ...minute!.decision, allowed: true, policy: 'per-hour' } }
    const { body } = deniedResponse([minute!, allowed, minute!], problem)
    expect(body).toMatchObject({ 'violated-policies': ['per-minute'] })
    expect(body).not.toHaveProperty('instance')
  })

  it('is the same for one decision', () => {
    const limits = deniedBy(perMinute)
    for (const options of [plain, problem]) {
      expect(deniedResponse(limits[0]!.decision, options)).toStrictEqual(deniedResponse(limits, options))
    }
  })

  it('has a wait of at least one second, in the singular', () => {
    const [{ decision }] = deniedBy(perMinute) as [ReturnType<typeof deniedBy>[number]]
    for (const retryAfterMs of [0, 0.001, 1000]) {
      expect(deniedResponse({ ...decision, retryAfterMs }, plain).body).toStrictEqual({
        error: 'rate_limit_exceeded',
        message: 'Too many requests. Please retry after 1 second.',
        retry_after: 1,
      })
    }
  })

  it('keeps any instance as valid JSON', () => {
    const instance = '/"\r\n<script>\u2028\ud800\\'
    const { body } = deniedResponse(deniedBy(perMinute), { ...problem, instance })
    const sent = JSON.stringify(body)
    expect(sent).not.toContain('\n')
    expect(JSON.parse(sent)).toStrictEqual(body)
    expect(body).toMatchObject({ instance })
  })
})

describe('unavailableResponse()', () => {
  it('is a small JSON object with the format plain', () => {
    expect(unavailableResponse({ ...plain, retryAfterSeconds: 3 })).toStrictEqual({
      status: 503,
      contentType: 'application/json',
      body: {
        error: 'rate_limiter_unavailable',
        message: 'The rate limiter is temporarily unavailable. Please retry after 3 seconds.',
        retry_after: 3,
      },
      retryAfterSeconds: 3,
    })
  })

  it('is a problem of RFC 9457, with a wait of at least one second', () => {
    expect(unavailableResponse({ ...problem, instance: '/login' })).toStrictEqual({
      status: 503,
      contentType: 'application/problem+json',
      body: {
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Request cannot be satisfied due to temporary server capacity constraints',
        status: 503,
        detail: 'The rate limiter is temporarily unavailable. Please retry after 1 second.',
        instance: '/login',
        retry_after: 1,
      },
      retryAfterSeconds: 1,
    })
    for (const retryAfterSeconds of [0, -1, 0.2, Number.NaN]) {
      expect(unavailableResponse({ ...plain, retryAfterSeconds }).retryAfterSeconds).toBe(1)
    }
  })
})

describe('prefersProblem()', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/*', false],
    ['application/json', false],
    ['text/html, */*;q=0.8', false],
    ['application/problem+json', true],
    ['Application/Problem+JSON', true],
    ['application/problem+json, application/json', true],
    ['application/json, application/problem+json', true],
    ['application/json;q=0.9, application/problem+json;q=0.9', true],
    ['application/json, application/problem+json;q=0.9', false],
    ['application/json;q=0.5, application/problem+json;q=0.9', true],
    ['application/problem+json;q=0', false],
    ['application/problem+json;q=0.000', false],
    ['application/problem+json;q=0.001', true],
    ['application/problem+json, */*', true],
    ['application/problem+json;q=0.5, */*', false],
    ['application/problem+json;q=0.5, */*, application/json;q=0.1', true],
    ['application/problem+json;q=0.5, application/*;q=0.6, */*;q=0.1', false],
    ['*/*;q=0.1,application/problem+json;q=0.2', true],
    ['application/problem+json ; charset=utf-8 ; q=0.5, application/json;q=0.6', false],
    ['application/problem+json;q=2', false],
    ['application/problem+json;q=high', false],
    ['application/problem+jsonx', false],
    ['x-application/problem+json', false],
    ['application/problem+xml', false],
  ])('%s: %s', (accept, prefers) => {
    expect(prefersProblem(accept)).toBe(prefers)
  })

  it('never throws, and takes time linear in the length of the header', () => {
    holds(
      hostileText(['application/problem+json', 'application/json', ';', 'q=', ',', '0.5', '*/*', '"', '=']),
      (accept) => {
        expect(typeof prefersProblem(accept)).toBe('boolean')
      },
    )
    expect(prefersProblem(`${'a;q=0.1,'.repeat(200_000)}application/problem+json`)).toBe(true)
    expect(prefersProblem(`application/problem+json${';a'.repeat(200_000)}`)).toBe(true)
  }, 10_000)
})
