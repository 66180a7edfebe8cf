import { fixedWindow, leakyBucket, type RatePolicy, tokenBucket } from '@tidegate/core'
import { expect, it } from 'vitest'
import { windowBound } from './most-admitted.js'
import { simulate } from './simulate.js'
import { worstWindow } from './times.js'

const WINDOW_MS = 60_000
/** 100 a minute, five times the limit. */
const arrivals = Array.from({ length: 300 }, (_, i) => i * 600)

it.each([
  tokenBucket({ capacity: 20, refillRate: '20/1m' }),
  leakyBucket({ capacity: 20, leakRate: '20/1m' }),
])('a $algorithm admits more than the limit in a window, and holds its own bound', (policy: RatePolicy) => {
  const { admittedMs, stateAt } = simulate(policy, 0, arrivals)
  const worst = worstWindow(admittedMs, WINDOW_MS)
  expect(worst).toBeGreaterThan(30)
  expect(worst).toBeLessThanOrEqual(windowBound(stateAt(0), 20))
})

it('the bound of a window is its limit', () => {
  const { stateAt } = simulate(fixedWindow({ limit: 20, window: '1m' }), 0, [])
  expect(windowBound(stateAt(0), 20)).toBe(20)
})
