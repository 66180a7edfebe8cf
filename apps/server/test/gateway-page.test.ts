import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { validate } from '../src/cli/validate.js'
import { FILTERS, UNSUPPORTED_FILTERS } from '../src/gateway/spring/filters/index.js'
import { PREDICATES, UNSUPPORTED_PREDICATES } from '../src/gateway/spring/predicates/index.js'
import { configErrorsIn, gatewayOf } from './gateway-routes.js'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const page = read('docs/operators/gateway.md')
const yamlIn = (text: string) => [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match) => match[1]!)

function sectionOf(title: string): string {
  const start = page.indexOf(`### ${title}\n`)
  return page.slice(start, page.indexOf('\n#', start + 1))
}

describe('docs/operators/gateway.md', () => {
  it.each(yamlIn(page))('has valid examples: %#', (text) => {
    expect(configErrorsIn(text)).toStrictEqual([])
  })

  it.each([
    ['Predicates', PREDICATES, UNSUPPORTED_PREDICATES],
    ['Filters', FILTERS, UNSUPPORTED_FILTERS],
  ])(
    '%s: has all supported ones in its table, and lists all unsupported ones',
    (title, supported, unsupported) => {
      const section = sectionOf(title)
      const inTable = [...section.matchAll(/^\| `(\w+)/gm)].map((match) => match[1]!)
      expect(inTable.sort()).toStrictEqual(Object.keys(supported).sort())
      const after = section.slice(section.indexOf('Not supported, and rejected by name'))
      for (const name of Object.keys(unsupported)) expect(after).toContain(`\`${name}\``)
    },
  )
})

describe('docs/users/budgets.md', () => {
  const budgets = read('docs/users/budgets.md')

  it.each(yamlIn(budgets))('has valid examples: %#', (text) => {
    expect(configErrorsIn(text)).toStrictEqual([])
    expect(gatewayOf(text).routes[0]!.budgets.budgets).toHaveLength(1)
  })

  it('has a row for each argument of the filter', () => {
    const [, table = ''] = /\| argument \| meaning \| default \|\n((?:\|.*\n)*)/.exec(budgets) ?? []
    const rows = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map((match) => match[1]!)
    expect(rows.sort()).toStrictEqual(Object.keys(FILTERS.TokenBudget!.args).sort())
  })
})

describe('examples/gateway/tidegate.yaml', () => {
  it('is valid, and has a route for each of its promises', () => {
    const { listen, routes } = gatewayOf(read('examples/gateway/tidegate.yaml'))
    expect(listen).toMatchObject({ host: '127.0.0.1', port: 8000 })
    expect(routes.map(({ id, limits }) => [id, limits.limits.length, limits.queue])).toStrictEqual([
      ['api-route', 3, false],
      ['mail', 4, true],
    ])
  })

  it('is valid for `tidegate validate`, which counts its routes', () => {
    const file = fileURLToPath(new URL('../../../examples/gateway/tidegate.yaml', import.meta.url))
    const lines: string[] = []
    const note = (line: string) => void lines.push(line)
    const terminal = { env: {}, out: note, err: note, paint: (_: string, text: string) => text }
    expect(validate(file, {}, terminal)).toBe(0)
    expect(lines).toStrictEqual([`${file} is valid: 3 policies, 3 rules, 2 routes, store memory`])
  })
})
