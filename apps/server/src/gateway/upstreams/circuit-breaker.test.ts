import { describe, expect, it } from 'vitest'
import { type BreakerChange, createCircuitBreaker } from './circuit-breaker.js'

const SETTINGS = {
  slidingWindowSize: 4,
  minimumNumberOfCalls: 2,
  failureRateThreshold: 50,
  waitMs: 1000,
  halfOpenCalls: 2,
}

function breakerAt0(settings = SETTINGS) {
  const changes: BreakerChange[] = []
  const clock = { ms: 0 }
  const breaker = createCircuitBreaker(
    settings,
    (change) => changes.push(change),
    () => clock.ms,
  )
  const call = (isFailure: boolean) => {
    if (breaker.enter()) breaker.record(isFailure)
  }
  return { breaker, changes, clock, call }
}

describe('a circuit breaker', () => {
  it('opens when the share of failures reaches the threshold, and not before the minimum of calls', () => {
    const { breaker, call, changes } = breakerAt0()
    call(true)
    expect(breaker.isAvailable).toBe(true)
    call(false)
    expect(breaker.isAvailable).toBe(false)
    expect(breaker.enter()).toBe(false)
    expect(changes).toStrictEqual(['opened'])
  })

  it('counts only the latest calls', () => {
    const { breaker, call } = breakerAt0({ ...SETTINGS, minimumNumberOfCalls: 4 })
    for (const isFailure of [true, false, false, false, true, false]) call(isFailure)
    expect(breaker.isAvailable).toBe(true)
    call(true)
    expect(breaker.isAvailable).toBe(false)
  })

  it('allows trial calls after the wait, and closes if they succeed', () => {
    const { breaker, call, changes, clock } = breakerAt0()
    call(true)
    call(true)
    clock.ms = 999
    expect(breaker.isAvailable).toBe(false)
    clock.ms = 1000
    expect([breaker.enter(), breaker.enter(), breaker.enter()]).toStrictEqual([true, true, false])
    breaker.record(false)
    expect(breaker.isAvailable).toBe(false)
    breaker.record(false)
    expect(breaker.isAvailable).toBe(true)
    expect(changes).toStrictEqual(['opened', 'closed'])
  })

  it('opens again if trial calls fail, without another event', () => {
    const { breaker, call, changes, clock } = breakerAt0()
    call(true)
    call(true)
    clock.ms = 1000
    call(true)
    call(false)
    expect(breaker.isAvailable).toBe(false)
    clock.ms = 2000
    expect(breaker.isAvailable).toBe(true)
    expect(changes).toStrictEqual(['opened'])
  })

  it('does not count calls that were abandoned', () => {
    const { breaker, call, clock } = breakerAt0()
    breaker.enter()
    breaker.abandon()
    call(true)
    expect(breaker.isAvailable).toBe(true)
    call(true)
    clock.ms = 1000
    breaker.enter()
    breaker.enter()
    breaker.abandon()
    expect(breaker.enter()).toBe(true)
  })

  it('does not use up its trial calls on requests with an unfinished body', () => {
    const { breaker, call, changes, clock } = breakerAt0()
    call(true)
    call(true)
    clock.ms = 1000
    expect(breaker.isHalfOpen).toBe(true)
    const unfinished = () => breaker.enter('unfinished')
    expect([unfinished(), unfinished(), unfinished()]).toStrictEqual([true, true, false])
    expect(breaker.isAvailable).toBe(true)
    call(false)
    breaker.abandon('unfinished')
    // One trial has an outcome, and one is in flight.
    expect(unfinished()).toBe(false)
    call(false)
    expect(changes).toStrictEqual(['opened', 'closed'])
    expect(breaker.isHalfOpen).toBe(false)
  })

  it('closes after trial calls with an unfinished body, if there are no others', () => {
    const { breaker, call, changes, clock } = breakerAt0()
    call(true)
    call(true)
    clock.ms = 1000
    for (let i = 0; i < 2; i++) if (breaker.enter('unfinished')) breaker.record(false, 'unfinished')
    expect(changes).toStrictEqual(['opened', 'closed'])
  })

  it('opens with a full window even if the minimum of calls is larger', () => {
    const { breaker, call } = breakerAt0({ ...SETTINGS, slidingWindowSize: 2, minimumNumberOfCalls: 100 })
    call(true)
    call(true)
    expect(breaker.isAvailable).toBe(false)
  })
})
