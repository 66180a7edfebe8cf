import { TidegateError } from '@tidegate/core'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { sendUntilStored } from './send-until-stored.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const storeFailed = () => new TidegateError('STORE_FAILED', 'The store failed.')

it('sends once if the store is available', async () => {
  const send = vi.fn(async () => {})
  await sendUntilStored(send)
  expect(send).toHaveBeenCalledTimes(1)
})

it('sends again after 1 s, 5 s and 25 s', async () => {
  const send = vi.fn(async () => Promise.reject(storeFailed()))
  const sent = sendUntilStored(send)
  const calls: number[] = []
  for (const waitMs of [0, 999, 1, 4999, 1, 24_999, 1, 1_000_000]) {
    await vi.advanceTimersByTimeAsync(waitMs)
    calls.push(send.mock.calls.length)
  }
  expect(calls).toEqual([1, 1, 2, 2, 3, 3, 4, 4])
  await sent
})

it('stops once the store has answered', async () => {
  const send = vi.fn(async () => {})
  send.mockRejectedValueOnce(storeFailed())
  const sent = sendUntilStored(send)
  await vi.advanceTimersByTimeAsync(1000)
  await sent
  expect(send).toHaveBeenCalledTimes(2)
})

it('rejects with any other error at once', async () => {
  const bug = new Error('a bug')
  await expect(sendUntilStored(() => Promise.reject(bug))).rejects.toBe(bug)
})
