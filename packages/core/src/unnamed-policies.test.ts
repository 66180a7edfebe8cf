import { describe, expect, it } from 'vitest'
import { createLimiter } from './limiter.js'
import { MemoryStore } from './memory-store/memory-store.js'
import { definePolicy, fixedWindow } from './policy.js'
import type { Store } from './store/store.js'

const two = (name?: string) => fixedWindow({ limit: 2, window: '15m', ...(name !== undefined && { name }) })

/** A store outside this process, around which a limiter puts a guard. */
function remoteStore(): Store {
  const { check, take, peek, refund, reset, close } = new MemoryStore()
  return { check, take, peek, refund, reset, close }
}

describe.each([
  ['a memory store', () => new MemoryStore()],
  ['a store outside this process', remoteStore],
])('on %s', (_, create) => {
  it('a second limiter with an unnamed policy of equal numbers is an error that says what to write', () => {
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

  it('unnamed policies with other numbers do not meet', () => {
    const store = create()
    createLimiter({ store, policy: two() })
    expect(() => createLimiter({ store, policy: fixedWindow({ limit: 3, window: '15m' }) })).not.toThrow()
  })
})

it('limiters with stores of their own never meet', () => {
  const [login, signup] = [createLimiter({ policy: two() }), createLimiter({ policy: two() })]
  login.check('a', 2)
  expect(signup.check('a').allowed).toBe(true)
})

it('a policy knows whether its name was chosen, also after JSON', () => {
  const copy = definePolicy(JSON.parse(JSON.stringify(two())))
  expect([two().isNamed, copy.isNamed, two('login').isNamed]).toStrictEqual([false, false, true])
})
