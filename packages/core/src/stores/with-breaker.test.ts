import { describe, expect, it } from 'vitest'
import { FallibleStore } from '../../test/fallible-store.js'
import { ManualTimers } from '../../test/manual-timers.js'
import { ManualClock } from '../clock.js'
import { TidegateError } from '../errors.js'
import { fixedWindow } from '../policy.js'
import type { ResetRequest, Store } from './store.js'
import { storeFailed } from './store-failure.js'
import { withBreaker } from './with-breaker.js'

const policy = fixedWindow({ limit: 1000, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }

function around(store: Store) {
  const timers = new ManualTimers()
  const changes: string[] = []
  const failures: unknown[] = []
  const guarded = withBreaker(store, {
    timers,
    random: () => 0.5,
    onChange: ({ state, part }) => changes.push(part === undefined ? state : `${part} ${state}`),
    onFailure: (error) => failures.push(error),
  })
  return { timers, guarded, changes, failures }
}

function setUp() {
  const store = new FallibleStore(new ManualClock(1_800_000_000_000))
  return { store, ...around(store) }
}

/** Why a call failed, or `answered`. */
async function outcome(call: () => unknown): Promise<string> {
  try {
    await call()
    return 'answered'
  } catch (error) {
    const { cause, code, message } = (error ?? {}) as TidegateError
    return String(cause ?? code ?? message)
  }
}

/** So many calls, one after the other. */
async function times(count: number, call: () => unknown): Promise<string[]> {
  const seen: string[] = []
  for (let i = 0; i < count; i++) seen.push(await outcome(call))
  return seen
}

describe('a store with a breaker', () => {
  it('is not asked while it fails, except by one call now and then', async () => {
    const { timers, store, guarded, changes, failures } = setUp()
    store.mood = 'fails'
    expect(await times(7, () => guarded.check(request))).toStrictEqual([
      ...Array(5).fill('STORE_FAILED'),
      'breaker-open',
      'breaker-open',
    ])
    expect([store.asked.length, failures.length]).toStrictEqual([5, 5])
    await timers.pass(200)
    expect(await times(2, () => guarded.check(request))).toStrictEqual(['STORE_FAILED', 'breaker-open'])
    expect([guarded.breakerState, guarded.breakerWaitMs()]).toStrictEqual(['open', 400])
    store.mood = 'answers'
    await timers.pass(400)
    expect(await times(2, () => guarded.check(request))).toStrictEqual(['answered', 'answered'])
    expect(guarded.breakerState).toBe('closed')
    expect(changes).toStrictEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
  })

  it('is asked at once when it says that it can be reached again', async () => {
    const fallible = new FallibleStore(new ManualClock(1_800_000_000_000))
    const listeners: (() => void)[] = []
    const store: Store = {
      check: (request) => fallible.check(request),
      onReachable: (listener) => listeners.push(listener),
    } as Partial<Store> as Store
    const { timers, guarded } = around(store)
    fallible.mood = 'fails'
    await times(5, () => guarded.check(request))
    await timers.pass(200)
    expect(await outcome(() => guarded.check(request))).toBe('STORE_FAILED')
    fallible.mood = 'answers'
    await timers.pass(300)
    expect(await outcome(() => guarded.check(request))).toBe('breaker-open')
    for (const listener of listeners) listener()
    expect(await outcome(() => guarded.check(request))).toBe('answered')
    expect(guarded.breakerState).toBe('closed')
  })

  it('is asked by one call only until that is answered', async () => {
    const { timers, store, guarded } = setUp()
    store.mood = 'fails'
    await times(5, () => guarded.check(request))
    await timers.pass(200)
    store.mood = 'hangs'
    const probe = guarded.check(request)
    expect(await times(3, () => guarded.check(request))).toStrictEqual(Array(3).fill('breaker-open'))
    store.arrive()
    expect(await probe).toMatchObject({ allowed: true })
    store.mood = 'answers'
    expect(await outcome(() => guarded.check(request))).toBe('answered')
  })

  it.each(['check', 'take', 'peek', 'refund', 'reset'] as const)(
    'fails %s at once while open',
    async (method) => {
      const { store, guarded } = setUp()
      store.mood = 'fails'
      const call = {
        check: () => guarded.check(request),
        take: () => guarded.take([request]),
        peek: () => guarded.peek(request),
        refund: () => guarded.refund({ ...request, timeMs: 0 }),
        reset: () => guarded.reset(request),
      }[method]
      await times(5, call)
      store.asked.length = 0
      expect(await outcome(call)).toBe('breaker-open')
      expect(store.asked).toStrictEqual([])
    },
  )

  it.each([
    ['wrong input', () => Promise.reject(new TidegateError('COST_INVALID', 'no'))],
    [
      'wrong input that is thrown',
      () => {
        throw new TidegateError('KEY_INVALID', 'no')
      },
    ],
    ['a time-out of a busy process', () => Promise.reject(storeFailed('timeout-of-busy-process', 'late'))],
    ['a plain value, for which nobody was asked', () => ({ allowed: false })],
  ])('is not judged by %s, not even when it is the one call', async (_, answer) => {
    let check: () => unknown = answer
    const { timers, guarded, changes } = around({ check: () => check() } as unknown as Store)
    await times(100, () => guarded.check(request))
    expect(guarded.breakerState).toBe('closed')
    check = () => Promise.reject(new Error('down'))
    await times(5, () => guarded.check(request))
    await timers.pass(200)
    check = answer
    await times(3, () => guarded.check(request))
    expect(guarded.breakerState).toBe('half-open')
    check = async () => ({})
    expect(await outcome(() => guarded.check(request))).toBe('answered')
    expect(changes).toStrictEqual(['open', 'half-open', 'closed'])
  })

  it('is not judged by what is no request at all', async () => {
    const { guarded } = setUp()
    for (const request of [undefined, null]) {
      await times(10, () => guarded.check(request as never))
      await times(10, () => guarded.take([request as never]))
    }
    expect(guarded.breakerState).toBe('closed')
  })

  it('is judged by what is no error of ours, rejected or thrown', async () => {
    for (const check of [
      () => Promise.reject(new TypeError('broken')),
      () => {
        throw new TypeError('broken')
      },
      () => Promise.reject(undefined),
      () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })),
    ]) {
      const { guarded } = around({ check } as unknown as Store)
      await times(5, () => guarded.check(request))
      expect(guarded.breakerState).toBe('open')
    }
  })
})

describe('a store in parts', () => {
  /** Keys `a…` and `b…` live in two parts, each of which can be down. */
  function setUpParts() {
    const down = new Set<string>()
    const asked: string[] = []
    const partOf = ({ key }: ResetRequest) => key[0]!
    async function answer(...keys: string[]) {
      asked.push(keys.join('+'))
      if (keys.some((key) => down.has(key[0]!))) throw new Error('down')
      return {}
    }
    const store = {
      check: ({ key }: ResetRequest) => answer(key),
      take: (requests: ResetRequest[]) => answer(...requests.map(({ key }) => key)),
      partOf,
    } as unknown as Store
    const all = around(store)
    return {
      ...all,
      partOf,
      down,
      asked,
      check: (key: string) => outcome(() => all.guarded.check({ policy, key, cost: 1 })),
      take: (...keys: string[]) =>
        outcome(() => all.guarded.take(keys.map((key) => ({ policy, key, cost: 1 })))),
    }
  }

  it('goes on being asked for the parts that are up', async () => {
    const { timers, guarded, changes, down, check } = setUpParts()
    down.add('a')
    for (let i = 0; i < 5; i++) await check(`a${i}`)
    expect(await check('a')).toBe('breaker-open')
    expect(await check('b')).toBe('answered')
    expect(guarded.breakerState).toBe('open')
    down.clear()
    await timers.pass(200)
    expect(await check('a')).toBe('answered')
    expect(guarded.breakerState).toBe('closed')
    expect(changes).toStrictEqual(['a open', 'a half-open', 'a closed'])
  })

  it('is not asked for a take of which one part is down', async () => {
    const { down, asked, check, take } = setUpParts()
    down.add('a')
    for (let i = 0; i < 5; i++) await check('a')
    asked.length = 0
    expect(await take('b', 'a')).toBe('breaker-open')
    expect(await take('b1', 'b2')).toBe('answered')
    expect(asked).toStrictEqual(['b1+b2'])
  })

  it('blames a failed take on the part that has not answered meanwhile', async () => {
    const { guarded, changes, down, check, take } = setUpParts()
    down.add('a')
    await Promise.all([check('b'), ...Array.from({ length: 5 }, () => take('b', 'a'))])
    expect(changes).toStrictEqual(['a open'])
    expect(await check('b')).toBe('answered')
    expect(guarded.breakerState).toBe('open')
  })

  it('lets a take be the one call, too', async () => {
    const { timers, changes, down, check, take } = setUpParts()
    down.add('a')
    for (let i = 0; i < 5; i++) await check('a')
    await timers.pass(200)
    expect(await take('a', 'b')).toBe('down')
    expect(changes).toStrictEqual(['a open', 'a half-open', 'a open'])
    down.clear()
    await timers.pass(400)
    expect(await take('a', 'b')).toBe('answered')
    expect(changes.slice(3)).toStrictEqual(['a half-open', 'a closed'])
  })

  it('loses no probe to a take that another part cannot have', async () => {
    const { timers, down, check, take } = setUpParts()
    down.add('a').add('b')
    for (let i = 0; i < 5; i++) await check('a')
    await timers.pass(200)
    await check('a')
    for (let i = 0; i < 5; i++) await check('b')
    down.clear()
    await timers.pass(200)
    expect(await take('b', 'a')).toBe('breaker-open')
    expect(await check('b')).toBe('answered')
    expect(await check('a')).toBe('breaker-open')
  })

  it('forgets a part that nobody asks any more', async () => {
    const { timers, guarded, changes, down, check } = setUpParts()
    down.add('a')
    for (let i = 0; i < 5; i++) await check('a')
    await timers.pass(10_000)
    await check('b')
    expect(guarded.breakerState).toBe('open')
    await timers.pass(10_000)
    await check('b')
    expect(guarded.breakerState).toBe('closed')
    expect(changes).toStrictEqual(['a open', 'a closed'])
  })

  it('is asked about what is no request, to say so itself', async () => {
    const seen: unknown[] = []
    function refuse(what: unknown): never {
      seen.push(what)
      throw new TidegateError('KEY_INVALID', 'no')
    }
    const { partOf } = setUpParts()
    const { guarded } = around({ check: refuse, take: refuse, partOf } as unknown as Store)
    const odd = [undefined, 'text', [null]]
    for (const what of odd) expect(await outcome(() => guarded.take(what as never))).toBe('KEY_INVALID')
    expect(await outcome(() => guarded.check(null as never))).toBe('KEY_INVALID')
    expect(seen).toStrictEqual([...odd, null])
  })
})
