import { describe, expect, it } from 'vitest'
import { createInstabilityState, createOverloadState, createStarvationState } from './changes.js'

function setUpOverload() {
  const time = { ms: 0 }
  const changes: boolean[] = []
  const overload = createOverloadState(
    () => time.ms,
    (isOverloaded) => changes.push(isOverloaded),
  )
  return { time, changes, overload }
}

describe('the overload state', () => {
  it('changes with the first sign, and back with an answer 5 s after the last sign', () => {
    const { time, changes, overload } = setUpOverload()
    overload.answered()
    expect(changes).toStrictEqual([])
    overload.sign()
    time.ms = 4000
    overload.sign()
    time.ms = 8999
    overload.answered()
    expect(changes).toStrictEqual([true])
    time.ms = 9000
    overload.answered()
    overload.answered()
    expect(changes).toStrictEqual([true, false])
    overload.sign()
    expect(changes).toStrictEqual([true, false, true])
  })
})

describe('the instability state', () => {
  function setUpInstability() {
    const time = { ms: 0 }
    const changes: string[] = []
    const instability = createInstabilityState(
      () => time.ms,
      (isUnstable, error) => changes.push(`${isUnstable} ${error}`),
    )
    return { time, changes, instability }
  }

  it('changes with failures in ten seconds of a minute, and back with a response a minute after the last one', () => {
    const { time, changes, instability } = setUpInstability()
    for (let i = 1; i <= 9; i++) {
      instability.failed(i)
      instability.answered()
      time.ms += 6000
    }
    expect(changes).toStrictEqual([])
    instability.failed('the tenth')
    time.ms += 6000
    instability.failed('the eleventh')
    expect(changes).toStrictEqual(['true the tenth'])
    time.ms += 59_999
    instability.answered()
    expect(changes).toHaveLength(1)
    time.ms += 1
    instability.answered()
    instability.answered()
    expect(changes).toStrictEqual(['true the tenth', 'false undefined'])
  })

  it('does not change if the failures are in fewer seconds, as at the start of an outage', () => {
    const { time, changes, instability } = setUpInstability()
    for (let i = 0; i < 1000; i++) {
      instability.failed(i)
      time.ms += 8
    }
    expect(changes).toStrictEqual([])
  })

  it('does not change if ten failures take a minute', () => {
    const { time, changes, instability } = setUpInstability()
    for (let i = 0; i < 20; i++) {
      time.ms += 6700
      instability.failed(i)
    }
    expect(changes).toStrictEqual([])
  })
})

function setUpStarvation() {
  const time = { ms: 100_000 }
  const changes: string[] = []
  const starvation = createStarvationState(
    () => time.ms,
    (isStarved, lateMs) => changes.push(`${isStarved} ${lateMs}`),
  )
  return {
    changes,
    /** A timer of 10 ms fires, late by this much. */
    fire(lateMs: number) {
      time.ms += 10 + lateMs
      starvation.fired(lateMs)
    },
  }
}

describe('the starvation state', () => {
  it('changes when timers were late by 500 ms within a second', () => {
    const { changes, fire } = setUpStarvation()
    for (let i = 0; i < 4; i++) fire(100)
    expect(changes).toStrictEqual([])
    fire(100)
    fire(100)
    expect(changes).toStrictEqual(['true 500'])
  })

  it('changes after one timer that was late by 500 ms or more', () => {
    for (const [lateMs, expected] of [
      [499, []],
      [500, ['true 500']],
      [60_000, ['true 60000']],
    ] as const) {
      const { changes, fire } = setUpStarvation()
      fire(0)
      fire(lateMs)
      expect(changes).toStrictEqual(expected)
    }
  })

  it('does not add up small delays over many seconds', () => {
    const { changes, fire } = setUpStarvation()
    for (let i = 0; i < 10_000; i++) fire(8)
    expect(changes).toStrictEqual([])
  })

  it('changes back once, 5 s after the second in which timers were late', () => {
    const { changes, fire } = setUpStarvation()
    fire(600)
    for (let i = 0; i < 499; i++) fire(0)
    expect(changes).toStrictEqual(['true 600'])
    for (let i = 0; i < 100; i++) fire(0)
    expect(changes).toStrictEqual(['true 600', 'false 0'])
  })
})
