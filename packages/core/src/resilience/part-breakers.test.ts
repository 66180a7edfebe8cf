import { describe, expect, it } from 'vitest'
import { guard, guardFallible } from '../../test/guard.js'
import { TidegateError } from '../errors.js'
import { fixedWindow } from '../policy/index.js'
import type { ResetRequest, Store } from '../store/store.js'
import { storeFailed } from '../store/store-error.js'

const policy = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }

/** The state changes of all breakers: `open`, or `a open` for a part named `a`. */
function changesOf({ eventsOf }: Pick<ReturnType<typeof guard>, 'eventsOf'>): string[] {
  return eventsOf('breaker').map(({ state, part }) => (part === undefined ? state : `${part} ${state}`))
}

async function times(count: number, call: () => unknown): Promise<void> {
  for (let i = 0; i < count; i++) await call()
}

describe('the circuit breaker of a store', () => {
  it('stops calls to a failing store, except for one probe after each wait', async () => {
    const setup = guardFallible()
    const { pass, store, guarded, eventsOf } = setup
    store.state = 'failing'
    await times(7, () => guarded.check(request))
    expect([store.methods.length, eventsOf('call-failed').length]).toStrictEqual([5, 5])
    expect(eventsOf('degraded')).toHaveLength(7)
    await pass(200)
    await times(2, () => guarded.check(request))
    expect([store.methods.length, guarded.breakerState]).toStrictEqual([6, 'open'])
    store.state = 'up'
    await pass(399)
    await guarded.check(request)
    expect(store.methods).toHaveLength(6)
    await pass(1)
    expect(await guarded.check(request)).not.toHaveProperty('degraded')
    expect(await guarded.check(request)).not.toHaveProperty('degraded')
    expect(guarded.breakerState).toBe('closed')
    expect(changesOf(setup)).toStrictEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
  })

  it('lets a call through as soon as the store reports that it is reachable', async () => {
    let report = () => {}
    const traits = {
      onReachable(listener: () => void) {
        report = listener
      },
    }
    const { pass, store, guarded } = guardFallible({ traits })
    store.state = 'failing'
    await times(5, () => guarded.check(request))
    await pass(200)
    expect(await guarded.check(request)).toMatchObject({ degraded: 'open' })
    store.state = 'up'
    await pass(300)
    expect(await guarded.check(request)).toMatchObject({ degraded: 'open' })
    report()
    expect(await guarded.check(request)).not.toHaveProperty('degraded')
    expect(guarded.breakerState).toBe('closed')
  })

  it('sends a single probe until that probe is answered', async () => {
    const { pass, store, guarded } = guardFallible()
    store.state = 'failing'
    await times(5, () => guarded.check(request))
    await pass(200)
    store.state = 'hanging'
    const probe = guarded.check(request)
    await times(3, async () => expect(await guarded.check(request)).toMatchObject({ degraded: 'open' }))
    expect(store.methods).toHaveLength(6)
    store.deliver()
    expect(await probe).not.toHaveProperty('degraded')
    store.state = 'up'
    expect(await guarded.check(request)).not.toHaveProperty('degraded')
  })

  it.each(['check', 'take', 'peek', 'refund', 'reset'] as const)(
    'does not send a %s while open',
    async (method) => {
      const { store, guarded, timers } = guardFallible()
      store.state = 'failing'
      const call = {
        check: () => guarded.check(request),
        take: () => guarded.take([request]),
        peek: () => guarded.peek(request),
        refund: () => guarded.refund({ ...request, timeMs: 0 }),
        reset: () => guarded.reset(request).catch(({ cause }) => cause),
      }[method]
      await times(5, call)
      expect(guarded.breakerState).toBe('open')
      store.methods.length = 0
      const expected = {
        check: { degraded: 'open' },
        take: { decisions: [{ degraded: 'open' }] },
        peek: { degraded: 'open' },
        refund: 0,
        reset: 'breaker-open',
      }[method]
      const outcome = await call()
      if (typeof expected === 'object') expect(outcome).toMatchObject(expected)
      else expect(outcome).toBe(expected)
      expect([store.methods, timers.now()]).toStrictEqual([[], 0])
    },
  )

  it.each([
    ['invalid input', () => Promise.reject(new TidegateError('COST_INVALID', 'invalid'))],
    [
      'invalid input that is thrown',
      () => {
        throw new TidegateError('KEY_INVALID', 'invalid')
      },
    ],
    ['overload of this process', () => Promise.reject(storeFailed('overload', 'queue is full'))],
  ])('ignores %s, also as the result of a probe', async (_, check) => {
    let send: () => unknown = check
    const setup = guard({ check: () => send() } as unknown as Store)
    const { pass, guarded } = setup
    const call = () => guarded.check(request).catch(() => {})
    await times(100, call)
    expect(guarded.breakerState).toBe('closed')
    send = () => Promise.reject(new Error('down'))
    await times(5, call)
    await pass(200)
    send = check
    await times(3, call)
    expect(guarded.breakerState).toBe('half-open')
    send = async () => ({ allowed: true })
    expect(await call()).toStrictEqual({ allowed: true })
    expect(changesOf(setup)).toStrictEqual(['open', 'half-open', 'closed'])
  })

  it('ignores malformed requests', async () => {
    const { guarded, events } = guardFallible()
    for (const malformed of [undefined, null]) {
      await times(10, () => guarded.check(malformed as never).catch(() => {}))
      await times(10, () => guarded.take([malformed as never]).catch(() => {}))
      await times(10, () => guarded.take(malformed as never).catch(() => {}))
    }
    expect([guarded.breakerState, events]).toStrictEqual(['closed', []])
  })

  it.each([
    ['a TypeError', () => Promise.reject(new TypeError('broken'))],
    [
      'a thrown TypeError',
      () => {
        throw new TypeError('broken')
      },
    ],
    ['undefined', () => Promise.reject(undefined)],
    ['a socket error', () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }))],
  ])('counts %s as a failure', async (_, check) => {
    const { guarded } = guard({ check } as unknown as Store)
    await times(5, () => guarded.check(request))
    expect(guarded.breakerState).toBe('open')
  })
})

describe('the circuit breakers of a store in parts', () => {
  /** Keys `a…` and `b…` are in two parts, and each part can be down. */
  function setUpParts() {
    const down = new Set<string>()
    const calls: string[] = []
    const partOf = ({ key }: ResetRequest) => key[0]!
    async function call(...keys: string[]) {
      calls.push(keys.join('+'))
      if (keys.some((key) => down.has(key[0]!))) throw new Error('down')
      return {}
    }
    const store = {
      check: ({ key }: ResetRequest) => call(key),
      take: (requests: ResetRequest[]) => call(...requests.map(({ key }) => key)),
      traits: { partOf },
    } as unknown as Store
    const setup = guard(store)
    /** Whether the store was called, and with which outcome. */
    async function outcome(send: () => Promise<object>) {
      const before = calls.length
      const result = await send()
      if (calls.length === before) return 'not sent'
      return Object.keys(result).length === 0 ? 'answered' : 'failed'
    }
    return {
      ...setup,
      partOf,
      down,
      calls,
      changes: () => changesOf(setup),
      check: (key: string) => outcome(() => setup.guarded.check({ policy, key, cost: 1 })),
      take: (...keys: string[]) =>
        outcome(() => setup.guarded.take(keys.map((key) => ({ policy, key, cost: 1 })))),
    }
  }

  it('keep available parts in use', async () => {
    const { pass, guarded, changes, down, check } = setUpParts()
    down.add('a')
    for (let i = 0; i < 5; i++) expect(await check(`a${i}`)).toBe('failed')
    expect([await check('a'), await check('b')]).toStrictEqual(['not sent', 'answered'])
    expect(guarded.breakerState).toBe('open')
    down.clear()
    await pass(200)
    expect(await check('a')).toBe('answered')
    expect(guarded.breakerState).toBe('closed')
    expect(changes()).toStrictEqual(['a open', 'a half-open', 'a closed'])
  })

  it('stop a take if one of its parts is down', async () => {
    const { down, calls, check, take } = setUpParts()
    down.add('a')
    await times(5, () => check('a'))
    calls.length = 0
    expect(await take('b', 'a')).toBe('not sent')
    expect(await take('b1', 'b2')).toBe('answered')
    expect(calls).toStrictEqual(['b1+b2'])
  })

  it('count a failed take against the part that has not responded in the meantime', async () => {
    const { guarded, changes, down, check, take } = setUpParts()
    down.add('a')
    await Promise.all([check('b'), ...Array.from({ length: 5 }, () => take('b', 'a'))])
    expect(changes()).toStrictEqual(['a open'])
    expect(await check('b')).toBe('answered')
    expect(guarded.breakerState).toBe('open')
  })

  it('accept a take as a probe', async () => {
    const { pass, changes, down, check, take } = setUpParts()
    down.add('a')
    await times(5, () => check('a'))
    await pass(200)
    expect(await take('a', 'b')).toBe('failed')
    expect(changes()).toStrictEqual(['a open', 'a half-open', 'a open'])
    down.clear()
    await pass(400)
    expect(await take('a', 'b')).toBe('answered')
    expect(changes().slice(3)).toStrictEqual(['a half-open', 'a closed'])
  })

  it('do not use a probe for a take that another part stops', async () => {
    const { pass, down, check, take } = setUpParts()
    down.add('a').add('b')
    await times(5, () => check('a'))
    await pass(200)
    await check('a')
    await times(5, () => check('b'))
    down.clear()
    await pass(200)
    expect(await take('b', 'a')).toBe('not sent')
    expect(await check('b')).toBe('answered')
    expect(await check('a')).toBe('not sent')
  })

  it('are removed with parts that are no longer used', async () => {
    const { pass, guarded, changes, down, check } = setUpParts()
    down.add('a')
    await times(5, () => check('a'))
    await pass(10_000)
    await check('b')
    expect(guarded.breakerState).toBe('open')
    await pass(10_000)
    await check('b')
    expect(guarded.breakerState).toBe('closed')
    expect(changes()).toStrictEqual(['a open', 'a closed'])
  })

  it('pass malformed requests on to the store, which rejects them', async () => {
    const received: unknown[] = []
    function reject(requests: unknown): never {
      received.push(requests)
      throw new TidegateError('KEY_INVALID', 'invalid')
    }
    const { partOf } = setUpParts()
    const { guarded } = guard({ check: reject, take: reject, traits: { partOf } } as unknown as Store)
    const malformed = [undefined, 'text', [null]]
    for (const requests of malformed) {
      await expect(guarded.take(requests as never)).rejects.toMatchObject({ code: 'KEY_INVALID' })
    }
    const check = guarded.check({ policy, key: undefined as never, cost: 1 })
    await expect(check).rejects.toMatchObject({ code: 'KEY_INVALID' })
    expect(received).toStrictEqual([...malformed, { policy, key: undefined, cost: 1 }])
  })
})
