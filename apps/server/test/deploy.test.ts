import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readQuery } from './promql.js'
import { type Exposition, expositionAt } from './scrape.js'
import { startService, type TestService } from './start-service.js'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: { readonly severity?: string }
  readonly annotations?: { readonly summary?: string; readonly description?: string }
}

const rules = (
  parse(read('deploy/prometheus/alerts.yml')) as { groups: { name: string; rules: Rule[] }[] }
).groups.flatMap((group) => group.rules)
const alerts = rules.filter(({ alert }) => alert !== undefined)
const recorded = new Map(rules.flatMap(({ record, expr }) => (record === undefined ? [] : [[record, expr]])))

const dashboard = JSON.parse(read('deploy/grafana/tidegate-dashboard.json')) as unknown
const shown = [...queriesIn(dashboard)]
const onPage = [...read('docs/operators/monitoring.md').matchAll(/^```promql\n([\s\S]*?)^```$/gm)].flatMap(
  (match) => match[1]!.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
)

let service: TestService
let exposition: Exposition
beforeAll(async () => {
  service = await startService()
  exposition = await expositionAt(service.url)
})
afterAll(() => service?.close())

describe('every series that is used exists', () => {
  it.each(rules.map(({ record, alert, expr }) => [alert ?? record, expr]))('by the rule %s', (_name, expr) =>
    expectToExist(expr!),
  )
  it.each(shown)('on the dashboard, in %s', expectToExist)
  it.each(onPage)('in docs/operators/monitoring.md, in %s', expectToExist)
})

it('the check detects an unknown series, label or value', () => {
  for (const query of [
    'rate_limiter_request_total',
    'rate_limiter_requests_total{allowed="no"}',
    'rate_limiter_requests_total{permitted="true"}',
    'sum by (key) (rate_limiter_requests_total)',
  ]) {
    expect(() => expectToExist(query)).toThrow()
  }
})

it('there are queries to check', () => {
  expect(shown.length).toBeGreaterThan(15)
  expect(alerts.length).toBeGreaterThan(5)
  expect(onPage).toHaveLength(3)
})

it('every metric of the limiter is on the dashboard', () => {
  const named = new Set(shown.flatMap((query) => readQuery(query).selectors.map(({ name }) => name)))
  const metrics = [...exposition.types.keys()].filter((name) => name.startsWith('rate_limiter_'))
  const isShown = (name: string) => [name, `${name}_bucket`, `${name}_count`].some((one) => named.has(one))
  expect(metrics.filter((name) => !isShown(name))).toStrictEqual([])
  expect(metrics.length).toBeGreaterThan(8)
})

it.each(alerts)('the alert $alert has a severity, a summary and a description', (alert) => {
  expect(alert.labels?.severity).toMatch(/^(critical|warning)$/)
  expect(alert.annotations?.summary?.length).toBeGreaterThan(20)
  expect(alert.annotations?.description?.length).toBeGreaterThan(20)
  expect(alert.for ?? '1m').toMatch(/^\d+[smh]$/)
})

/** Labels that Prometheus adds to every series. */
const ADDED = ['job', 'instance']

function expectToExist(query: string): void {
  const { selectors, groupedBy } = readQuery(query)
  expect(selectors.length).toBeGreaterThan(0)
  const labels = new Set<string>(ADDED)
  for (const { name, matchers } of selectors) {
    const expr = recorded.get(name)
    if (expr !== undefined) {
      for (const label of readQuery(expr).groupedBy) labels.add(label)
      continue
    }
    const own = matchers.filter(({ label, value }) => !ADDED.includes(label) && !value.startsWith('$'))
    expect(own.map(({ operator }) => operator).filter((operator) => operator !== '=')).toStrictEqual([])
    const found = exposition.samples.filter(
      (sample) => sample.name === name && own.every(({ label, value }) => sample.labels[label] === value),
    )
    expect(found.length, `${name} with ${JSON.stringify(own)}`).toBeGreaterThan(0)
    for (const label of Object.keys(found[0]!.labels)) labels.add(label)
  }
  for (const label of groupedBy) expect([...labels]).toContain(label)
}

/** Every query anywhere in a dashboard. */
function* queriesIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inside] of Object.entries(value)) {
    if (typeof inside !== 'string') yield* queriesIn(inside)
    else if (name === 'expr') yield inside
    else if (name === 'query' && inside.startsWith('label_values(')) {
      yield inside.replace(/^label_values\((.*), \w+\)$/, '$1')
    }
  }
}
