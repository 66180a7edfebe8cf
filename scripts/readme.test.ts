import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const readme = read('README.md')
const comparison = read('docs/comparison.md')
const benchmarks = read('docs/benchmarks.md')

const [header = [], , ...rows] = readme
  .split('\n## Comparison\n')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').map((cell) => cell.trim()))

/** The cell of a product in a column. */
function cell(product: string, column: string): string {
  return rows.find((row) => row[1]!.includes(product))![header.indexOf(column)]!
}

/** The first figure in a row of a generated table. */
function measured(scenario: string, row: string): number {
  const section = benchmarks.split(`\n### ${scenario}:`)[1]!.split('\n### ')[0]!
  return Number(new RegExp(`^\\| ${row} \\| ([\\d.,]+) \\|`, 'm').exec(section)![1]!.replaceAll(',', ''))
}

describe('README.md', () => {
  it('has fewer than 150 lines', () => {
    expect(readme.split('\n').length).toBeLessThan(150)
  })

  // The tolerance is for other machines and days: `npm run bench docs` rewrites the page, not the README.
  it.each([
    ['**Tidegate**', 'ns per check', '10k-plain', 'token bucket'],
    ['express-rate-limit', 'ns per check', '10k-awaited', 'express MemoryStore'],
    ['rate-limiter-flexible', 'ns per check', '10k-awaited', 'RateLimiterMemory'],
    ['**Tidegate**', 'bytes per key', 'memory-short', 'token bucket'],
  ])('%s, %s: is within 25 % of the last benchmark', (product, column, scenario, row) => {
    const shown = Number(cell(product, column))
    const last = measured(scenario, row)
    expect(shown).toBeGreaterThan(last * 0.75)
    expect(shown).toBeLessThan(last * 1.25)
  })

  it.each(rows.map((row) => row[1]!.replace(/^[[*]+|[\]*].*$/g, '')))(
    '%s has sources for every column',
    (product) => {
      const section = comparison.split(`\n## ${product}\n`)[1]!.split('\n## ')[0]!
      const covered = [...section.matchAll(/^\| ([^|]+) \|/gm)].flatMap((match) => match[1]!.split(', '))
      const columns = header.slice(2, -1).map((column) => column.replace(', all or none', ''))
      expect(columns.filter((column) => !covered.includes(column))).toStrictEqual([])
    },
  )
})
