import { describe, expect, it } from 'vitest'
import { ManualTimers } from '../../test/manual-timers.js'
import { type BreakerState, createBreaker, NO_LEAVE } from './breaker.js'

/** A breaker whose waits are exact: chance is always in the middle. */
function setUp(random = () => 0.5) {
  const timers = new ManualTimers()
  const changes: BreakerState[] = []
  const breaker = createBreaker({ now: timers.now, random, onChange: (state) => changes.push(state) })
  return {
    timers,
    breaker,
    changes,
    /** One call that comes to this: `+` an answer, `-` a failure, `.` nothing that counts. */
    call(what: string): 'sent' | 'not sent' {
      const leave = breaker.ask()
      if (leave === NO_LEAVE) return 'not sent'
      if (what === '+') breaker.answered(leave)
      else if (what === '-') breaker.failed(leave, new Error('down'))
      else breaker.cameToNothing(leave)
      return 'sent'
    },
  }
}

describe('a breaker opens', () => {
  it.each([
    ['after 5 failures in a row', '-----', 'open'],
    ['not after 4', '----', 'closed'],
    ['not if an answer comes between them', '----+----', 'closed'],
    ['not for what says nothing about the store', '----....', 'closed'],
    ['for 5 in a row, whatever comes between that says nothing', '--.--.-', 'open'],
    ['when half of 20 have failed', '+-+-+-+-+-+-+-+-+-+-', 'open'],
    ['not when half of fewer than 20 have', '+-+-+-+-+-+-+-+-+-', 'closed'],
    ['not when fewer than half of many have', '++-'.repeat(100), 'closed'],
    ['when the failures of a second come to half', `${'++-'.repeat(10)}${'+--'.repeat(10)}`, 'open'],
  ])('%s', (_, calls, state) => {
    const { breaker, call } = setUp()
    for (const what of calls) expect(call(what)).toBe('sent')
    expect(breaker.state).toBe(state)
  })

  it('for what fails within one second, not over a longer time', async () => {
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

  it('not for what failed nearly two seconds ago, with nothing since', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '+-'.repeat(9)) call(what)
    await timers.pass(1900)
    for (const what of '+-') call(what)
    expect(breaker.state).toBe('closed')
  })

  it('for 5 failures in a row however long they take', async () => {
    const { timers, breaker, call } = setUp()
    for (let i = 0; i < 5; i++) {
      expect(breaker.state).toBe('closed')
      call('-')
      await timers.pass(3_600_000)
    }
    expect(breaker.state).toBe('open')
  })

  it('not for a single failure that many calls share', () => {
    const { breaker } = setUp()
    const leaves = Array.from({ length: 100 }, () => breaker.ask())
    const error = new Error('connection lost')
    for (const leave of leaves) breaker.failed(leave, error)
    expect(breaker.state).toBe('closed')
    // The same error again, of calls that were made later, is another failure.
    for (let i = 0; i < 4; i++) breaker.failed(breaker.ask(), error)
    expect(breaker.state).toBe('open')
  })

  it('for 5 such failures, though their calls were all made together', () => {
    const { breaker } = setUp()
    const leaves = Array.from({ length: 10 }, () => breaker.ask())
    const errors = Array.from({ length: 5 }, () => new Error('timeout'))
    for (const [i, leave] of leaves.entries()) {
      expect(breaker.state).toBe(i <= 8 ? 'closed' : 'open')
      breaker.failed(leave, errors[Math.floor(i / 2)])
    }
    expect(breaker.state).toBe('open')
  })
})

describe('an open breaker', () => {
  it('lets one call through after 200 ms, then after twice as long, up to 2 s', async () => {
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

  it('waits up to a fifth less or more, by chance', () => {
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

  it('waits no longer than 2 s, whatever chance says', async () => {
    const { timers, breaker, call } = setUp(() => 0.999999)
    for (const what of '-----') call(what)
    for (let i = 0; i < 10; i++) {
      await timers.pass(breaker.waitMs())
      expect(call('-')).toBe('sent')
    }
    expect(breaker.waitMs()).toBeCloseTo(2000, 6)
  })

  it('is half-open while the one call is on its way, and lets no other through', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '-----') call(what)
    await timers.pass(200)
    expect(breaker.state).toBe('open')
    const leave = breaker.ask()
    expect(breaker.state).toBe('half-open')
    await timers.pass(10_000)
    expect(call('+')).toBe('not sent')
    breaker.answered(leave)
    expect(breaker.state).toBe('closed')
    expect(breaker.waitMs()).toBe(0)
  })

  it('lets the next call through if the first said nothing about the store', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '-----') call(what)
    await timers.pass(200)
    expect(call('.')).toBe('sent')
    expect(breaker.state).toBe('half-open')
    expect(call('.')).toBe('sent')
    expect(call('+')).toBe('sent')
    expect(breaker.state).toBe('closed')
  })

  it('begins anew when it closes: 5 failures in a row, and 200 ms', async () => {
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

  it('begins anew when it closes: what failed in the second before no longer counts', async () => {
    const { timers, breaker, call } = setUp()
    for (const what of '+-'.repeat(10)) call(what)
    expect(breaker.state).toBe('open')
    await timers.pass(200)
    for (const what of '+-') call(what)
    expect(breaker.state).toBe('closed')
  })

  it('is not moved by calls that were made before it opened', async () => {
    const { timers, breaker, changes, call } = setUp()
    const early = Array.from({ length: 10 }, () => breaker.ask())
    for (const what of '-----') call(what)
    breaker.answered(early[0]!)
    breaker.failed(early[1]!, new Error('late'))
    expect([breaker.state, breaker.waitMs()]).toStrictEqual(['open', 200])
    await timers.pass(200)
    const probe = breaker.ask()
    breaker.answered(early[2]!)
    breaker.cameToNothing(early[3]!)
    expect([breaker.state, breaker.ask()]).toStrictEqual(['half-open', NO_LEAVE])
    breaker.answered(probe)
    for (const leave of early.slice(4)) breaker.failed(leave, new Error('late'))
    expect(changes).toStrictEqual(['open', 'half-open', 'closed'])
  })
})

describe('a breaker that hears that the store may be back', () => {
  it('lets a call through at once, and its waits begin anew', async () => {
    const { timers, breaker, call, changes } = setUp()
    for (let i = 0; i < 5; i++) call('-')
    for (const waitMs of [200, 400, 800]) {
      await timers.pass(waitMs)
      call('-')
    }
    await timers.pass(1000)
    expect([breaker.waitMs(), call('+')]).toStrictEqual([600, 'not sent'])
    breaker.mayBeBack()
    expect([breaker.waitMs(), call('-'), call('+')]).toStrictEqual([0, 'sent', 'not sent'])
    expect(breaker.waitMs()).toBe(200)
    // It can be reached, but it still fails: it is not asked again and again.
    breaker.mayBeBack()
    expect([breaker.waitMs(), call('+')]).toStrictEqual([200, 'not sent'])
    await timers.pass(200)
    expect([call('+'), breaker.state]).toStrictEqual(['sent', 'closed'])
    expect(changes.slice(-4)).toStrictEqual(['half-open', 'open', 'half-open', 'closed'])
  })

  it('lets one through only, also when one is on its way', async () => {
    const { timers, breaker, call } = setUp()
    for (let i = 0; i < 5; i++) call('-')
    await timers.pass(200)
    const leave = breaker.ask()
    breaker.mayBeBack()
    expect(call('+')).toBe('not sent')
    breaker.failed(leave, new Error('down'))
    expect(breaker.waitMs()).toBe(200)
  })

  it('does nothing while it is closed', () => {
    const { breaker, call, changes } = setUp()
    breaker.mayBeBack()
    expect([call('+'), changes]).toStrictEqual(['sent', []])
  })
})
