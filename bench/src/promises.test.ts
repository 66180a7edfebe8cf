import { expect, it } from 'vitest'
import { accuracy } from './accuracy/index.js'
import { core } from './core/index.js'
import { gateway } from './gateway/index.js'
import { http } from './http/index.js'
import { PROMISES } from './promises.js'
import { redis } from './redis/index.js'
import type { Benchmark } from './report/benchmark.js'
import type { Figures, Measurement } from './report/figures.js'
import { outcomeOf } from './report/promise.js'
import { scenarioTables } from './report/scenario-tables.js'
import { asText } from './report/table.js'
import { rls } from './rls/index.js'
import { service } from './service/index.js'

/** A run in which every figure is 1. */
function runOf({ scenarios }: Benchmark): Measurement[] {
  const figures: Figures = new Proxy({}, { get: () => 1 })
  return Object.entries(scenarios).flatMap(([scenario, { contenders }]) =>
    contenders.map((contender) => ({ scenario, contender, figures, rounds: [figures] })),
  )
}

it.each([core, redis, accuracy, service, http, gateway, rls])(
  '$name: has a table for every scenario and a measured figure for every promise',
  (benchmark) => {
    const all = runOf(benchmark)
    const tables = scenarioTables(benchmark, all)
    expect(tables).toHaveLength(Object.keys(benchmark.scenarios).length)
    for (const { headings, rows } of tables) {
      expect(rows.length).toBeGreaterThan(0)
      for (const row of rows) expect(row).toHaveLength(headings.length)
    }
    expect(tables.map(asText).join('\n')).not.toMatch(/NaN|undefined/)

    const promises = PROMISES.filter((promise) => promise.benchmark === benchmark.name)
    expect(promises.length).toBeGreaterThan(0)
    for (const promise of promises) {
      expect(promise.target, promise.claim).toBeGreaterThanOrEqual(0)
      expect(outcomeOf(promise, all).median, promise.claim).toBeGreaterThan(0)
    }
  },
)

it('no two promises are about the same figure', () => {
  const claims = PROMISES.map(({ benchmark, scenario, claim }) => `${benchmark} ${scenario}: ${claim}`)
  expect(new Set(claims).size).toBe(claims.length)
})
