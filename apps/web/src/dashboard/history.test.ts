import { describe, expect, it } from 'vitest'
import { eventAt } from '../../test/fast-service.js'
import { createHistory, spanOf } from './history.js'
import { createRing } from './ring.js'

describe('a ring', () => {
  it('has the last so many numbers, the oldest first, and what is no number as null', () => {
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

describe('the history of what happened', () => {
  it('is of five minutes, however much comes', () => {
    const history = createHistory()
    for (let second = 0; second < 5000; second++) history.add(eventAt(second))
    for (const lines of [history.rates(undefined), history.rates('policy-3'), history.times()]) {
      for (const line of lines) expect(line).toHaveLength(300)
      expect(lines[0][0]).toBe(-299)
      expect(lines[0].at(-1)).toBe(0)
      expect(spanOf(lines)).toBe(299)
    }
  })

  it('shows a minute at first', () => {
    const history = createHistory()
    expect(spanOf(history.rates(undefined))).toBe(60)
    history.add(eventAt(0))
    history.add(eventAt(1))
    expect(spanOf(history.rates(undefined))).toBe(60)
  })

  it('has nothing of the first event, which has nothing to compare with, and a gap where nobody looked', () => {
    const history = createHistory()
    history.add({ ...eventAt(0), seconds: 0 })
    expect(history.last?.timeMs).toBe(eventAt(0).timeMs)
    expect(history.rates(undefined)[0]).toStrictEqual([])
    history.add(eventAt(1))
    history.add(eventAt(100))
    const [seconds, allowed] = history.rates(undefined)
    expect(seconds).toStrictEqual([-99, -98.999, 0])
    expect(allowed).toStrictEqual([eventAt(1).total.allowed, null, eventAt(100).total.allowed])
  })

  it('begins anew when the clock is set back', () => {
    const history = createHistory()
    history.add(eventAt(100))
    history.add(eventAt(1))
    expect(history.rates(undefined)[0]).toStrictEqual([0])
  })

  it('has no more of a policy that is gone, and nothing before of one that is new', () => {
    const history = createHistory()
    history.add(eventAt(1))
    const only = (name: string) => {
      const event = eventAt(2)
      return { ...event, policies: [{ ...event.policies[0]!, name }] }
    }
    history.add(only('new'))
    expect(history.rates('new')[1]).toStrictEqual([null, eventAt(2).policies[0]!.allowed])
    // Of one that is not there, the whole is shown.
    expect(history.rates('policy-3')).toStrictEqual(history.rates(undefined))
  })

  it('tells of every event', () => {
    const history = createHistory()
    let told = 0
    const stop = history.subscribe(() => told++)
    history.add(eventAt(1))
    stop()
    history.add(eventAt(2))
    expect(told).toBe(1)
  })
})
