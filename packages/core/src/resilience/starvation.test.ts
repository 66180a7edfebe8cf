import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guard, guardFallible } from '../../test/guard.js'
import { settle } from '../../test/manual-timers.js'
import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import { fixedWindow } from '../policy/index.js'
import type { Store } from '../store/store.js'

const DEADLINE_MS = 50
const open = fixedWindow({ limit: 1_000_000, window: '365d', name: 'open' })
const closed = fixedWindow({ limit: 1_000_000, window: '365d', name: 'closed', onStoreFailure: 'closed' })
const request = { policy: open, key: 'k', cost: 1 }

describe('a process that is starved of CPU', () => {
  it.each([100, 200, 1000])(
    'never times out a healthy store, blocked repeatedly for %d ms',
    async (blockedMs) => {
      const { store, guarded, timers, events } = guardFallible()
      await guarded.check(request)
      store.state = 'hanging'
      for (let i = 0; i < 200; i++) {
        const decisions = Promise.all(Array.from({ length: 20 }, () => guarded.check(request)))
        await timers.block(blockedMs, store.deliver)
        for (const decision of await decisions) expect(decision).not.toHaveProperty('degraded')
      }
      expect(guarded.breakerState).toBe('closed')
      expect(events.filter(({ type }) => type !== 'starved')).toStrictEqual([])
    },
  )

  it('never times out replies that are read three turns later', async () => {
    const { store, guarded, timers, events } = guardFallible()
    await guarded.check(request)
    store.state = 'hanging'
    for (let i = 0; i < 50; i++) {
      const decision = guarded.check(request)
      for (let turn = 0; turn < 2; turn++) await timers.block(200)
      await timers.block(200, store.deliver)
      expect(await decision).not.toHaveProperty('degraded')
    }
    expect(events.filter(({ type }) => type !== 'starved')).toStrictEqual([])
  })

  it('does not count synchronous work between calls of one turn', async () => {
    const { store, guarded, timers, events } = guardFallible()
    await guarded.check(request)
    await timers.pass(10)
    store.state = 'hanging'
    const decisions = Array.from({ length: 20 }, () => {
      timers.work(15)
      return guarded.check(request)
    })
    // The requests leave the process at the end of this turn, so the next turn has no replies yet.
    await timers.block(0)
    await timers.block(10, store.deliver)
    for (const decision of await Promise.all(decisions)) expect(decision).not.toHaveProperty('degraded')
    expect(events.filter(({ type }) => type !== 'starved')).toStrictEqual([])
  })

  it('does not count work on other replies between the timer and the end of reading', async () => {
    const { store, guarded, timers, events } = guardFallible()
    await guarded.check(request)
    await timers.pass(10)
    store.state = 'hanging'
    const decision = guarded.check(request)
    await timers.pass(30)
    await timers.block(10, () => timers.work(200))
    await timers.block(10, store.deliver)
    expect(await decision).not.toHaveProperty('degraded')
    expect(events).toStrictEqual([])
  })

  it('is reported once when timers were late by 500 ms within a second, and once when it ends', async () => {
    const { store, guarded, timers, eventsOf, pass } = guardFallible()
    store.state = 'hanging'
    async function check(blockedMs: number) {
      const decision = guarded.check(request)
      await timers.block(blockedMs, store.deliver)
      await decision
    }
    await pass(5000)
    for (let i = 0; i < 2; i++) await check(200)
    expect(eventsOf('starved')).toStrictEqual([])
    for (let i = 0; i < 10; i++) await check(200)
    expect(eventsOf('starved')).toStrictEqual([{ type: 'starved', isStarved: true, lateMs: 570 }])
    for (let i = 0; i < 440; i++) await check(10)
    expect(eventsOf('starved')).toHaveLength(1)
    for (let i = 0; i < 110; i++) await check(10)
    expect(eventsOf('starved').slice(1)).toStrictEqual([{ type: 'starved', isStarved: false, lateMs: 0 }])
  })
})

/** A store with `silentMs`, like a client with a queue and a connection. */
function guardMeasured(silentMs: () => number) {
  return guardFallible({ traits: { silentMs } })
}

describe('a store with silentMs', () => {
  it.each([open, closed])(
    'can take up to connectTimeoutMs while it is not silent, then $name counts locally',
    async (policy) => {
      const { store, guarded, pass, events, eventsOf } = guardMeasured(() => 0)
      await guarded.check(request)
      store.state = 'hanging'
      for (let i = 0; i < 20; i++) {
        let decision: Decision | undefined
        void guarded.check({ policy, key: 'k', cost: 1 }).then((value) => {
          decision = value
        })
        await pass(999)
        await settle()
        expect(decision).toBe(undefined)
        await pass(1)
        await settle()
        expect(decision).toMatchObject({ allowed: true, degraded: 'local', reason: 'overload' })
      }
      expect(guarded.breakerState).toBe('closed')
      expect(eventsOf('overload')).toStrictEqual([{ type: 'overload', isOverloaded: true }])
      expect(new Set(events.map(({ type }) => type))).toStrictEqual(new Set(['overload', 'degraded']))
    },
  )

  it('is still used if it responds after the deadline without being silent', async () => {
    const { store, guarded, pass, events } = guardMeasured(() => DEADLINE_MS - 0.001)
    await guarded.check(request)
    store.state = 'hanging'
    const decision = guarded.check(request)
    await pass(900)
    store.deliver()
    expect(await decision).not.toHaveProperty('degraded')
    expect(events).toStrictEqual([])
  })

  it('keeps the breaker closed if one stall makes many calls late', async () => {
    const { store, guarded, pass, eventsOf } = guardMeasured(() => DEADLINE_MS)
    for (let stall = 0; stall < 5; stall++) {
      store.state = 'up'
      for (let i = 0; i < 40; i++) await guarded.check(request)
      store.state = 'hanging'
      const decisions = []
      for (let i = 0; i < 20; i++) {
        decisions.push(guarded.check(request))
        await pass(2)
      }
      await pass(DEADLINE_MS)
      expect(await Promise.all(decisions)).toMatchObject(Array(20).fill({ degraded: 'open' }))
      await pass(1000)
    }
    expect(guarded.breakerState).toBe('closed')
    expect(eventsOf('call-failed')).toHaveLength(100)
  })

  it.each([DEADLINE_MS, Number.POSITIVE_INFINITY])(
    'fails at the deadline and opens the breaker if it never responds in time, silent for %d ms',
    async (silentMs) => {
      const { store, guarded, pass, eventsOf } = guardMeasured(() => silentMs)
      await guarded.check(request)
      store.state = 'hanging'
      for (let i = 0; i < 6; i++) {
        expect(guarded.breakerState).toBe('closed')
        const decision = guarded.check(request)
        await pass(DEADLINE_MS)
        expect(await decision).toMatchObject({ allowed: true, degraded: 'open' })
        expect(await decision).not.toHaveProperty('reason')
      }
      expect(guarded.breakerState).toBe('open')
      expect(eventsOf('call-failed')).toMatchObject(Array(6).fill({ isTimeout: true }))
      expect(eventsOf('store')).toMatchObject([{ isUp: false, error: { cause: 'timeout' } }])
    },
  )

  it('fails at the next check if it becomes silent during the wait', async () => {
    let silentMs = 0
    const { store, guarded, pass, eventsOf } = guardMeasured(() => silentMs)
    await guarded.check(request)
    store.state = 'hanging'
    const decision = guarded.check(request)
    await pass(DEADLINE_MS)
    silentMs = DEADLINE_MS
    await pass(DEADLINE_MS)
    expect(await decision).toMatchObject({ degraded: 'open' })
    expect(eventsOf('call-failed')).toHaveLength(1)
  })

  it('receives the requests of the call', async () => {
    const received: unknown[] = []
    const { store, guarded, pass } = guardFallible({
      traits: { silentMs: (requests) => received.push(requests) },
    })
    await guarded.check(request)
    store.state = 'hanging'
    void guarded.take([request, { ...request, key: 'l' }])
    await pass(DEADLINE_MS)
    expect(received).toMatchObject([[{ key: 'k' }, { key: 'l' }]])
    store.deliver()
  })
})

describe('with any schedule', () => {
  type Regime = 'prompt' | 'queued' | 'trickle' | 'silent' | 'failing'

  /**
   * A store with a queue on a simulated event loop. `loopMs` counts a blocked period as one tick.
   * `prompt` replies within 20 ms, `trickle` sends one reply every 20 ms, `queued` keeps calls unsent in this process.
   */
  function createSimulation() {
    let regime: Regime = 'prompt'
    let loopMs = 0
    let lastReplyMs = 0
    let pending: { sentMs: number | undefined; resolve: () => void }[] = []

    function silentMs(): number {
      const oldest = pending.find(({ sentMs }) => sentMs !== undefined)
      return oldest === undefined ? 0 : loopMs - Math.max(oldest.sentMs!, lastReplyMs)
    }

    function send(): Promise<object> {
      if (regime === 'failing') return Promise.reject(new TidegateError('STORE_FAILED', 'down'))
      return new Promise((resolve) => {
        const sentMs = regime === 'queued' ? undefined : loopMs
        pending.push({ sentMs, resolve: () => resolve({ allowed: true }) })
      })
    }

    /** Delivers the replies that have arrived by now. */
    function read(): void {
      if (regime === 'silent' || regime === 'queued') return
      for (const call of pending) call.sentMs ??= loopMs
      const count = regime === 'prompt' ? pending.length : loopMs - lastReplyMs >= 20 ? 1 : 0
      for (const { resolve } of pending.slice(0, count)) {
        lastReplyMs = loopMs
        resolve()
      }
      pending = pending.slice(count)
    }

    const store = { check: send, traits: { silentMs } } as unknown as Store
    const setup = guard(store, { deadlineMs: DEADLINE_MS, connectTimeoutMs: 200 })
    return {
      ...setup,
      silentMs,
      become(to: Regime) {
        regime = to
      },
      async idle(ms: number) {
        for (let i = 0; i < ms; i += 5) {
          loopMs += 5
          await setup.timers.pass(5)
          read()
        }
      },
      async block(ms: number) {
        loopMs += 10
        await setup.timers.block(ms, read)
      },
    }
  }

  it('no request is allowed by onStoreFailure unless the store was silent or rejected a call', async () => {
    const steps = fc.array(
      fc.record({
        regime: fc.option(
          fc.constantFrom<Regime>('prompt', 'prompt', 'queued', 'trickle', 'trickle', 'silent', 'failing'),
          { nil: undefined, freq: 2 },
        ),
        checks: fc.nat({ max: 12 }),
        idleMs: fc.constantFrom(0, 5, 20, 60, 250),
        blockedMs: fc.constantFrom(0, 25, 80, 200, 1000),
      }),
      { minLength: 1, maxLength: 25 },
    )
    const seen = { open: 0, overload: 0, stored: 0 }
    await fc.assert(
      fc.asyncProperty(steps, async (trace) => {
        const { guarded, events, silentMs, become, idle, block } = createSimulation()
        /** Whether the store was silent for a deadline or rejected a call since the breaker last closed. */
        let isBlamed = false
        let eventsRead = 0
        const violations: Decision[] = []
        let regime: Regime = 'prompt'

        function observe(): void {
          if (events.slice(eventsRead).some((event) => event.type === 'breaker' && event.state === 'closed'))
            isBlamed = false
          eventsRead = events.length
          if (silentMs() >= DEADLINE_MS || regime === 'failing') isBlamed = true
        }

        void guarded.check(request)
        await idle(5)
        for (const step of trace) {
          regime = step.regime ?? regime
          become(regime)
          for (let i = 0; i < step.checks; i++) {
            void guarded.check(request).then((decision) => {
              observe()
              if (decision.degraded === 'open') seen.open++
              else if (decision.reason === 'overload') seen.overload++
              else seen.stored++
              if (decision.degraded === 'open' && !isBlamed) violations.push(decision)
            })
          }
          await settle()
          observe()
          for (let ms = 0; ms < step.idleMs; ms += 5) {
            await idle(5)
            observe()
          }
          if (step.blockedMs > 0) await block(step.blockedMs)
          observe()
        }
        become('prompt')
        await idle(500)
        expect(violations).toStrictEqual([])
      }),
      { numRuns: 150 },
    )
    // All three outcomes must occur, or the property would hold trivially.
    expect(Math.min(seen.open, seen.overload, seen.stored)).toBeGreaterThan(0)
  })
})
