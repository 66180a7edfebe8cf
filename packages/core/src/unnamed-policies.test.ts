import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from './limiter/index.js'
import { MemoryStore } from './memory-store/memory-store.js'
import { concurrency, definePolicy, fixedWindow, type Policy, tokenBucket } from './policy/index.js'
import type { Store } from './store/store.js'

const two = (name?: string) => fixedWindow({ limit: 2, window: '15m', ...(name !== undefined && { name }) })

afterEach(() => {
  vi.restoreAllMocks()
})

/** A store outside this process, around which a limiter puts a guard. */
function remoteStore(): Store {
  const { check, take, peek, refund, reset, close } = new MemoryStore()
  return { check, take, peek, refund, reset, close }
}

describe.each([
  ['a memory store', () => new MemoryStore()],
  ['a store outside this process', remoteStore],
])('on %s', (_, create) => {
  it('rejects a second limiter with an unnamed policy of equal numbers, with advice', () => {
    const store = create()
    createLimiter({ store, policy: two() })
    expect(() => createLimiter({ store, policy: two() })).toThrow(
      expect.objectContaining({
        code: 'POLICY_UNNAMED',
        field: 'name',
        message: expect.stringContaining("name: 'login'"),
      }),
    )
  })

  it('one policy object in two limiters is the same error', () => {
    const store = create()
    const policy = two()
    createLimiter({ store, policy })
    expect(() => createLimiter({ store, policy })).toThrow(/without a name/)
  })

  it('the store of the first limiter counts as the same store', () => {
    const { store } = createLimiter({ store: create(), policy: two() })
    expect(() => createLimiter({ store, policy: two() })).toThrow(/without a name/)
  })

  it('limiters with their own failure options count as on the same store', () => {
    const store = create()
    createLimiter({ store, policy: two(), failure: { deadlineMs: 10 } })
    expect(() => createLimiter({ store, policy: two(), failure: false })).toThrow(/without a name/)
  })

  it('a name for one of the two is enough, and equal names share on purpose', () => {
    const store = create()
    createLimiter({ store, policy: two() })
    createLimiter({ store, policy: two('signup') })
    expect(() => createLimiter({ store, policy: two('signup') })).not.toThrow()
  })

  it('unnamed policies with other numbers do not conflict', () => {
    const store = create()
    createLimiter({ store, policy: two() })
    expect(() => createLimiter({ store, policy: fixedWindow({ limit: 3, window: '15m' }) })).not.toThrow()
  })
})

describe('limiters with one name on one store', () => {
  /** The warnings of a limiter with each of these policies. */
  function warningsOf(...policies: Policy[]): unknown[] {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const store = new MemoryStore()
    for (const policy of policies) createLimiter({ store, policy })
    return warn.mock.calls.map(([message]) => message)
  }
  const fixed = (window: '1s' | '15m', limit = 5) => fixedWindow({ limit, window, name: 'api' })

  it.each([
    ['another window', [fixed('15m'), fixed('1s')]],
    [
      'another start',
      [fixed('1s'), fixedWindow({ limit: 5, window: '1s', start: 'first-request', name: 'api' })],
    ],
    ['another algorithm', [fixed('15m'), tokenBucket({ capacity: 5, refillRate: '5/15m', name: 'api' })]],
    ['another rate', ['5/15m', '5/1s'].map((rate) => bucket(rate as '5/1s'))],
    ['another ttl', ['1s', '10m'].map((ttl) => concurrency({ limit: 5, ttl: ttl as '1s', name: 'api' }))],
  ])('warn once if they have %s, because neither limit would hold', (_, policies) => {
    const warnings = warningsOf(...policies, ...policies)
    expect(warnings).toStrictEqual([expect.stringContaining('named "api"')])
  })

  it('may have other limits and options', () => {
    const blocking = fixedWindow({
      limit: 5,
      window: '15m',
      blockFor: '1h',
      onStoreFailure: 'local',
      name: 'api',
    })
    expect(warningsOf(fixed('15m'), fixed('15m'), fixed('15m', 100), blocking)).toStrictEqual([])
  })

  function bucket(refillRate: '5/1s') {
    return tokenBucket({ capacity: 5, refillRate, name: 'api' })
  }
})

it('limiters with stores of their own do not conflict', () => {
  const [login, signup] = [createLimiter({ policy: two() }), createLimiter({ policy: two() })]
  login.check('a', 2)
  expect(signup.check('a').allowed).toBe(true)
})

it('isNamed is false for a generated name, also after JSON', () => {
  const copy = definePolicy(JSON.parse(JSON.stringify(two())))
  expect([two().isNamed, copy.isNamed, two('login').isNamed]).toStrictEqual([false, false, true])
})
