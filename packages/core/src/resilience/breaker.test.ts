import { describe, expect, it } from 'vitest'
import { ManualTimers } from '../../test/manual-timers.js'
import { type BreakerState, createBreaker, NO_PERMIT } from './breaker.js'

/** A breaker with exact waits: without random spread by default. */
function setUp(random = () => 0.5) {
  const timers = new ManualTimers()
  const changes: BreakerState[] = []
  const breaker = createBreaker({ now: timers.now, random, onChange: (state) => changes.push(state) })
  return {
    timers,
    breaker,
    changes,
    /** One call with this outcome: `+` success, `-` failure, `.` ignored. */
    call(what: string): 'sent' | 'not sent' {
      const permit = breaker.acquire()
      if (permit === NO_PERMIT) return 'not sent'
      if (what === '+') breaker.succeeded(permit)
      else if (what === '-') breaker.failed(permit, new Error('down'))
      else breaker.ignored(permit)
      return 'sent'
    },
  }
}

describe('a closed breaker', () => {
  it.each([
    ['opens after 5 failures in a row', '-----', 'open'],
    ['stays closed after 4 failures', '----', 'closed'],
    ['stays closed if a success interrupts the failures', '----+----', 'closed'],
    ['stays closed for ignored calls', '----....', 'closed'],
    ['opens after 5 failures with ignored calls between them', '--.--.-', 'open'],
    ['opens when half of 20 calls have failed', '+-+-+-+-+-+-+-+-+-+-', 'open'],
    ['stays closed when half of fewer than 20 calls have failed', '+-+-+-+-+-+-+-+-+-', 'closed'],
    ['stays closed when fewer than half of many calls have failed', '++-'.repeat(100), 'closed'],
    [
      'opens when the failures of a second reach half of its calls',
      `${'++-'.repeat(10)}${'+--'.repeat(10)}`,
      'open',
    ],
  ])('%s', (_, calls, state) => {
    const { breaker, call } = setUp()
    for (const what of calls) expect(call(what)).toBe('sent')
    expect(breaker.state).toBe(state)
  })

  it('opens for failures within one second, not over a longer time', async () => {
    for (const [betweenMs, state] of [
      [40, 'open'],
      [60, 'closed'],
    ] as const) {
      const { timers, breaker, call } = setUp()
      for (const what of '+-'.repeat(12)) {
        if (breaker.state === 'closed') call(what)
        await timers.pass(betweenMs)
      }
      expect([betweenMs, breaker.state]).toStrictEqual([betweenMs, state])
    }
  })

  it('does not count failures of nearly two seconds ago', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '+-'.repeat(9)) call(what)
    await timers.pass(1900)
    for (const what of '+-') call(what)
    expect(breaker.state).toBe('closed')
  })

  it('opens after 5 failures in a row over any length of time', async () => {
    const { timers, breaker, call } = setUp()
    for (let i = 0; i < 5; i++) {
      expect(breaker.state).toBe('closed')
      call('-')
      await timers.pass(3_600_000)
    }
    expect(breaker.state).toBe('open')
  })

  it('counts calls that failed together as one failure', () => {
    const { breaker } = setUp()
    const permits = Array.from({ length: 100 }, () => breaker.acquire())
    const error = new Error('connection lost')
    for (const permit of permits) breaker.failed(permit, error)
    expect(breaker.state).toBe('closed')
    // The same error object is another failure for calls that were made later.
    for (let i = 0; i < 4; i++) breaker.failed(breaker.acquire(), error)
    expect(breaker.state).toBe('open')
  })

  it('opens after 5 such failures, also if all their calls were made together', () => {
    const { breaker } = setUp()
    const permits = Array.from({ length: 10 }, () => breaker.acquire())
    const errors = Array.from({ length: 5 }, () => new Error('timeout'))
    for (const [i, permit] of permits.entries()) {
      expect(breaker.state).toBe(i <= 8 ? 'closed' : 'open')
      breaker.failed(permit, errors[Math.floor(i / 2)])
    }
    expect(breaker.state).toBe('open')
  })
})

describe('an open breaker', () => {
  it('lets one probe through after 200 ms, then doubles the wait up to 2 s', async () => {
    const { timers, call } = setUp()
    for (const what of '-----') call(what)
    for (const waitMs of [200, 400, 800, 1600, 2000, 2000]) {
      await timers.pass(waitMs - 1)
      expect(call('-')).toBe('not sent')
      await timers.pass(1)
      expect(call('-')).toBe('sent')
      expect(call('-')).toBe('not sent')
    }
  })

  it('varies each wait by up to a fifth', () => {
    for (const [chance, waitMs] of [
      [0, 160],
      [0.25, 180],
      [0.75, 220],
      [0.999999, 240],
    ] as const) {
      const { breaker, call } = setUp(() => chance)
      for (const what of '-----') call(what)
      expect(breaker.waitMs()).toBeCloseTo(waitMs, 3)
    }
  })

  it('waits at most 2 s with any variation', async () => {
    const { timers, breaker, call } = setUp(() => 0.999999)
    for (const what of '-----') call(what)
    for (let i = 0; i < 10; i++) {
      await timers.pass(breaker.waitMs())
      expect(call('-')).toBe('sent')
    }
    expect(breaker.waitMs()).toBeCloseTo(2000, 6)
  })

  it('is half-open while the probe is in flight, and lets no other call through', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '-----') call(what)
    await timers.pass(200)
    expect(breaker.state).toBe('open')
    const permit = breaker.acquire()
    expect(breaker.state).toBe('half-open')
    await timers.pass(10_000)
    expect(call('+')).toBe('not sent')
    breaker.succeeded(permit)
    expect(breaker.state).toBe('closed')
    expect(breaker.waitMs()).toBe(0)
  })

  it('lets another probe through if the first was ignored', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '-----') call(what)
    await timers.pass(200)
    expect(call('.')).toBe('sent')
    expect(breaker.state).toBe('half-open')
    expect(call('.')).toBe('sent')
    expect(call('+')).toBe('sent')
    expect(breaker.state).toBe('closed')
  })

  it('starts over when it closes: 5 failures in a row, and 200 ms', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '-----') call(what)
    await timers.pass(200)
    call('-')
    await timers.pass(400)
    call('+')
    for (const what of '----') call(what)
    expect(breaker.state).toBe('closed')
    call('-')
    expect([breaker.state, breaker.waitMs()]).toStrictEqual(['open', 200])
  })

  it('starts over when it closes: earlier failures of that second do not count', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '+-'.repeat(10)) call(what)
    expect(breaker.state).toBe('open')
    await timers.pass(200)
    for (const what of '+-') call(what)
    expect(breaker.state).toBe('closed')
  })

  it('ignores the outcome of calls that were made before it opened', async () => {
    const { timers, breaker, changes, call } = setUp()
    const early = Array.from({ length: 10 }, () => breaker.acquire())
    for (const what of '-----') call(what)
    breaker.succeeded(early[0]!)
    breaker.failed(early[1]!, new Error('late'))
    expect([breaker.state, breaker.waitMs()]).toStrictEqual(['open', 200])
    await timers.pass(200)
    const probe = breaker.acquire()
    breaker.succeeded(early[2]!)
    breaker.ignored(early[3]!)
    expect([breaker.state, breaker.acquire()]).toStrictEqual(['half-open', NO_PERMIT])
    breaker.succeeded(probe)
    for (const permit of early.slice(4)) breaker.failed(permit, new Error('late'))
    expect(changes).toStrictEqual(['open', 'half-open', 'closed'])
  })
})

describe('retrySoon', () => {
  it('lets a probe through at once, and the waits start over', async () => {
    const { timers, breaker, call, changes } = setUp()
    for (let i = 0; i < 5; i++) call('-')
    for (const waitMs of [200, 400, 800]) {
      await timers.pass(waitMs)
      call('-')
    }
    await timers.pass(1000)
    expect([breaker.waitMs(), call('+')]).toStrictEqual([600, 'not sent'])
    breaker.retrySoon()
    expect([breaker.waitMs(), call('-'), call('+')]).toStrictEqual([0, 'sent', 'not sent'])
    expect(breaker.waitMs()).toBe(200)
    // A store that is reachable and still fails is not probed more often.
    breaker.retrySoon()
    expect([breaker.waitMs(), call('+')]).toStrictEqual([200, 'not sent'])
    await timers.pass(200)
    expect([call('+'), breaker.state]).toStrictEqual(['sent', 'closed'])
    expect(changes.slice(-4)).toStrictEqual(['half-open', 'open', 'half-open', 'closed'])
  })

  it('lets a single probe through, also when one is in flight', async () => {
    const { timers, breaker, call } = setUp()
    for (let i = 0; i < 5; i++) call('-')
    await timers.pass(200)
    const permit = breaker.acquire()
    breaker.retrySoon()
    expect(call('+')).toBe('not sent')
    breaker.failed(permit, new Error('down'))
    expect(breaker.waitMs()).toBe(200)
  })

  it('does nothing while the breaker is closed', () => {
    const { breaker, call, changes } = setUp()
    breaker.retrySoon()
    expect([call('+'), changes]).toStrictEqual(['sent', []])
  })
})
