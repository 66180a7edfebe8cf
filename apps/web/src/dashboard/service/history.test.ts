import { describe, expect, it } from 'vitest'
import { liveEvent } from '../../../test/fake-service.js'
import { createHistory, spanOf } from './history.js'
import { createRing } from './ring.js'

describe('ring', () => {
  it('returns the last values, oldest first, and NaN as null', () => {
    const ring = createRing(3)
    expect(ring.values()).toStrictEqual([])
    expect(ring.last).toBeUndefined()
    ring.push(1)
    ring.push(Number.NaN)
    expect(ring.values()).toStrictEqual([1, null])
    for (let i = 2; i < 10; i++) ring.push(i)
    expect(ring.values()).toStrictEqual([7, 8, 9])
    expect(ring.last).toBe(9)
    expect(ring.length).toBe(3)
  })
})

const secondsAt = (second: number) => liveEvent(second).timeMs / 1000

describe('history', () => {
  it('covers five minutes, however many events arrive', () => {
    const history = createHistory()
    for (let second = 0; second < 5000; second++) history.add(liveEvent(second))
    for (const lines of [history.rates(undefined), history.rates('policy-3'), history.latencies()]) {
      for (const line of lines) expect(line).toHaveLength(300)
      expect(lines[0][0]).toBe(secondsAt(4700))
      expect(lines[0].at(-1)).toBe(secondsAt(4999))
      expect(spanOf(lines)).toBe(299)
    }
  })

  it('shows one minute at first', () => {
    const history = createHistory()
    expect(spanOf(history.rates(undefined))).toBe(60)
    history.add(liveEvent(0))
    history.add(liveEvent(1))
    expect(spanOf(history.rates(undefined))).toBe(60)
  })

  it('skips the first event, which has no rates, and has a gap where events are missing', () => {
    const history = createHistory()
    history.add({ ...liveEvent(0), seconds: 0 })
    expect(history.last?.timeMs).toBe(liveEvent(0).timeMs)
    expect(history.rates(undefined)[0]).toStrictEqual([])
    history.add(liveEvent(1))
    history.add(liveEvent(100))
    const [seconds, allowed] = history.rates(undefined)
    expect(seconds).toStrictEqual([secondsAt(1), secondsAt(1) + 0.001, secondsAt(100)])
    expect(allowed).toStrictEqual([liveEvent(1).total.allowed, null, liveEvent(100).total.allowed])
  })

  it('starts again when the clock is set back', () => {
    const history = createHistory()
    history.add(liveEvent(100))
    history.add(liveEvent(1))
    expect(history.rates(undefined)[0]).toStrictEqual([secondsAt(1)])
  })

  it('drops removed policies and has null for the time before a new policy', () => {
    const history = createHistory()
    history.add(liveEvent(1))
    const only = (name: string) => {
      const event = liveEvent(2)
      return { ...event, policies: [{ ...event.policies[0]!, name }] }
    }
    history.add(only('new'))
    expect(history.rates('new')[1]).toStrictEqual([null, liveEvent(2).policies[0]!.allowed])
    // An unknown policy shows the total.
    expect(history.rates('policy-3')).toStrictEqual(history.rates(undefined))
  })

  it('notifies subscribers of every event', () => {
    const history = createHistory()
    let notified = 0
    const stop = history.subscribe(() => notified++)
    history.add(liveEvent(1))
    stop()
    history.add(liveEvent(2))
    expect(notified).toBe(1)
  })
})
