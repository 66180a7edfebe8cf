import { expect, it } from 'vitest'
import { ManualTimers } from '../test/manual-timers.js'
import { createAlarm } from './timers.js'

it('an alarm runs once, at the earliest requested time', async () => {
  const timers = new ManualTimers()
  let runs = 0
  const alarm = createAlarm(timers, () => runs++)
  for (const ms of [300, 100, 200]) alarm.setBy(timers.now() + ms)
  await timers.pass(99)
  expect(runs).toBe(0)
  await timers.pass(1)
  expect(runs).toBe(1)
  await timers.pass(1000)
  expect(runs).toBe(1)
})

it('a cancelled alarm does not run, and can be set again to a later time', async () => {
  const timers = new ManualTimers()
  let runs = 0
  const alarm = createAlarm(timers, () => runs++)
  alarm.setBy(timers.now() + 100)
  alarm.cancel()
  await timers.pass(200)
  expect(runs).toBe(0)
  alarm.setBy(timers.now() + 100)
  await timers.pass(100)
  expect(runs).toBe(1)
})
