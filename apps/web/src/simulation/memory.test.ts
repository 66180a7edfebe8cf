import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  memoryFor,
  PROCESS_KEY_BYTES,
  PROCESS_TEXT_BYTES,
  REDIS_KEY_BYTES,
  REDIS_LOG_UNIT_BYTES,
} from './memory.js'

const page = readFileSync(new URL('../../../../docs/benchmarks.md', import.meta.url), 'utf8')

/** Reads one figure from the table of a scenario. */
function figure(scenario: string, row: string, column: number): number {
  const table = page.split(`### ${scenario}:`)[1]?.split('\n### ')[0] ?? ''
  const cells = table
    .split('\n')
    .find((line) => line.startsWith(`| ${row} |`))
    ?.split('|')
  return Number(cells?.[column + 1]?.trim())
}

describe('memory figures match docs/benchmarks.md within 10%', () => {
  it.each([
    ['memory-short', 'token bucket', 1, PROCESS_KEY_BYTES],
    ['memory-short', 'fixed window', 1, PROCESS_KEY_BYTES],
    ['memory-short', 'sliding counter', 1, PROCESS_KEY_BYTES],
    ['memory-short', 'leaky bucket', 1, PROCESS_KEY_BYTES],
    ['memory-short', 'token bucket', 2, PROCESS_TEXT_BYTES],
    ['memory-key', 'token bucket', 1, REDIS_KEY_BYTES],
    ['memory-log', 'sliding log', 1, REDIS_LOG_UNIT_BYTES],
  ])('%s: %s, column %d', (scenario, row, column, figureHere) => {
    const measured = figure(scenario, row, column)
    expect(measured).toBeGreaterThan(figureHere * 0.9)
    expect(measured).toBeLessThan(figureHere * 1.1)
  })
})

it('only the log grows with the limit, and every algorithm grows with the number of keys', () => {
  expect(memoryFor('token-bucket', 10, 1000)).toStrictEqual(memoryFor('token-bucket', 10_000, 1000))
  expect(memoryFor('sliding-window-log', 1000, 10).redisBytes).toBeGreaterThan(
    50 * memoryFor('sliding-window-counter', 1000, 10).redisBytes,
  )
  expect(memoryFor('fixed-window', 5, 200).processBytes).toBeCloseTo(
    2 * memoryFor('fixed-window', 5, 100).processBytes,
  )
})
