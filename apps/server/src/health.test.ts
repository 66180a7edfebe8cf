import { MemoryStore } from '@tidegate/core'
import { afterEach, expect, it, vi } from 'vitest'
import { watchHealth } from './health.js'

afterEach(() => void vi.restoreAllMocks())

it('probes the store at most every 250 ms, for any number of callers', async () => {
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const store = new MemoryStore()
  const check = vi.spyOn(store, 'check')
  const health = watchHealth(store, 'memory')
  for (const [atMs, times] of [
    [0, 1],
    [0, 1],
    [250, 1],
    [251, 2],
    [501, 2],
  ] as const) {
    nowMs = atMs
    await Promise.all([health.probe(), health.probe()])
    expect([atMs, check.mock.calls.length]).toStrictEqual([atMs, times])
  }
})
