import { afterEach, expect, it, vi } from 'vitest'
import { concurrency, fixedWindow, slidingWindowLog, tokenBucket } from './index.js'

const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
afterEach(() => warned.mockClear())

it('warns once about a number of milliseconds that looks like seconds', () => {
  for (let i = 0; i < 3; i++) fixedWindow({ limit: 10, window: 60 })
  expect(warned.mock.calls).toStrictEqual([
    [
      "window: 60 is 60 milliseconds. Write '60s' for seconds, or '60ms' to keep milliseconds. See node_modules/@tidegate/core/docs/errors.md#policy_suspicious",
      { type: 'TidegateWarning', code: 'TIDEGATE_POLICY_SUSPICIOUS' },
    ],
  ])
})

it.each([
  ['window: 1', () => slidingWindowLog({ limit: 10, window: 1 })],
  ['window: 900', () => fixedWindow({ limit: 10, window: 900 })],
  ['window: 86400', () => fixedWindow({ limit: 10, window: 86_400 })],
  ['blockFor: 30', () => tokenBucket({ capacity: 10, refillRate: 1, blockFor: 30 })],
  ['ttl: 3600', () => concurrency({ limit: 10, ttl: 3600 })],
])('warns about %s', (text, make) => {
  make()
  expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(`${text} is `), expect.anything())
})

it('does not warn about durations with a unit, or numbers that are likely to be milliseconds', () => {
  for (const window of ['60ms', '1s', '1m', 100, 250, 500, 1000, 1500, 60_000, 3_600_000]) {
    fixedWindow({ limit: 10, window })
  }
  expect(warned).not.toHaveBeenCalled()
})
