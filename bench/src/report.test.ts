import { expect, it } from 'vitest'
import type { Benchmark } from './benchmark.js'
import { core } from './core.js'
import { type Figures, type Measurement, ratioOf } from './figures.js'
import { gateway } from './gateway.js'
import { http } from './http.js'
import { redis } from './redis.js'
import { tablesOf, verdict } from './report.js'
import { service } from './service.js'
import { asMarkdown, asText } from './table.js'
import { atLeast, atMost } from './targets.js'

/** A run in which every figure that anybody could ask for is the same. */
function measuredAs(value: number, { scenarios }: Benchmark): Measurement[] {
  const figures: Figures = new Proxy({}, { get: () => value })
  return Object.entries(scenarios).flatMap(([scenario, { contenders }]) =>
    contenders.map((contender) => ({ scenario, contender, figures, rounds: [figures] })),
  )
}

it.each([core, redis, service, http, gateway])(
  '$name: every scenario is shown and every promise is about one of them',
  (benchmark) => {
    const all = measuredAs(1, benchmark)
    const tables = tablesOf(benchmark, all)
    expect(tables).toHaveLength(Object.keys(benchmark.scenarios).length + 1)
    for (const { headings, rows } of tables) {
      expect(rows.length).toBeGreaterThan(0)
      for (const row of rows) expect(row).toHaveLength(headings.length)
    }
    const text = tables.map(asText).join('\n')
    expect(text).not.toMatch(/NaN|undefined/)
    for (const { promise } of benchmark.judge(all)) {
      expect(Object.keys(benchmark.scenarios)).toContain(promise.split(':')[0])
    }
  },
)

it('a ratio compares what two came to in the same round', () => {
  const measured = (contender: string, ...rounds: number[]): Measurement => ({
    scenario: 's',
    contender,
    figures: {},
    rounds: rounds.map((bestNs) => ({ bestNs })),
  })
  const which = (contender: string) => ({ scenario: 's', contender })
  // The machine was slow in the second round, and in the middle of the third.
  const all = [measured('a', 10, 30, 10), measured('b', 20, 60, 40), measured('c', 1)]
  expect(ratioOf(all, which('b'), which('a'), 'bestNs')).toBe(2)
  expect(() => ratioOf(all, which('c'), which('a'), 'bestNs')).toThrow('not measured in the same rounds')
  expect(() => ratioOf(all, which('a'), which('a'), 'medianNs')).toThrow('no figure "medianNs"')
  expect(() => ratioOf(all, which('d'), which('a'), 'bestNs')).toThrow('not measured in the same rounds')
})

it('a promise that does not hold is seen', () => {
  const results = [
    atLeast(2, 'x', 'speed', 1.99),
    atMost(2, 'x', 'cost', 2),
    atMost(1, 'ms', 'pause', Number.NaN),
  ]
  expect(results.map((result) => result.holds)).toEqual([false, true, false])
  expect(verdict(results)).toBe('2 of 3 promises do not hold.')
  expect(verdict(results.slice(1, 2))).toBe('Every promise holds.')
})

it('a table is the same in text and in Markdown', () => {
  const table = { title: 'Speed', headings: ['', 'checks/s'], rows: [['ours', '1,000']] }
  expect(asText(table)).toBe('\nSpeed\n\n       checks/s\n----   --------\nours      1,000')
  expect(asMarkdown(table)).toBe('### Speed\n\n|  | checks/s |\n|---|---:|\n| ours | 1,000 |')
})
