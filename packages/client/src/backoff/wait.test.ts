import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { wait } from './wait.js'

it('is never early', async () => {
  const starts = Array.from({ length: 50 }, (_, i) => ({ ms: 1 + i / 3, start: performance.now() }))
  await Promise.all(
    starts.map(async ({ ms, start }) => {
      await wait(ms, undefined)
      expect(performance.now() - start).toBeGreaterThanOrEqual(ms)
    }),
  )
})

it('rejects with the reason when the signal aborts, and removes its listener and timer', async () => {
  // Other test files may have left timers in this process.
  const before = timers()
  const controller = new AbortController()
  const waiting = wait(60_000, controller.signal)
  controller.abort(new Error('changed my mind'))
  await expect(waiting).rejects.toThrow('changed my mind')
  await expect(wait(60_000, controller.signal)).rejects.toThrow('changed my mind')
  expect(timers()).toBeLessThanOrEqual(before)
  expect(getEventListeners(controller.signal, 'abort')).toStrictEqual([])
})

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}
