import { MemoryStore } from '@tidegate/core'
import { afterEach, expect, it, vi } from 'vitest'
import { watchHealth } from './health.js'

afterEach(() => void vi.restoreAllMocks())

it('asks the store once in a quarter of a second, however many look', async () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const store = new MemoryStore()
  const asked = vi.spyOn(store, 'check')
  const health = watchHealth(store, 'memory')
  for (const [atMs, times] of [
    [0, 1],
    [0, 1],
    [250, 1],
    [251, 2],
    [501, 2],
  ] as const) {
    nowMs = atMs
    await Promise.all([health.look(), health.look()])
    expect([atMs, asked.mock.calls.length]).toStrictEqual([atMs, times])
  }
})
