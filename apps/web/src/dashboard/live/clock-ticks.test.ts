import { expect, it } from 'vitest'
import { clockTicks } from './clock-ticks.js'

const at = (time: string) => Date.parse(`2030-01-01T${time}Z`) / 1000

it.each([
  ['a minute', '09:59:15', '10:00:15', ['09:59:20', '09:59:40', '10:00:00']],
  ['five minutes', '10:00:30', '10:05:30', ['10:01:00', '10:02:00', '10:03:00', '10:04:00', '10:05:00']],
  ['without labels that would be cut', '09:59:02', '10:00:02', ['09:59:20', '09:59:40']],
])('an axis of %s has round times of the clock', (_title, start, end, times) => {
  expect(clockTicks(at(start), at(end))).toStrictEqual(times.map(at))
})
