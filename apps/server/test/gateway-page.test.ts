import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { validate } from '../src/cli/validate.js'
import { FILTERS, UNSUPPORTED_FILTERS } from '../src/gateway/filters/all.js'
import { PREDICATES, UNSUPPORTED_PREDICATES } from '../src/gateway/predicates/all.js'
import { gatewayOf, mistakesIn } from './gateway-config.js'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const page = read('docs/gateway.md')
const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match) => match[1]!)

function sectionOf(title: string): string {
  const start = page.indexOf(`### ${title}\n`)
  return page.slice(start, page.indexOf('\n#', start + 1))
}

describe('docs/gateway.md', () => {
  it.each(examples)('has examples that are right: %#', (text) => {
    expect(mistakesIn(text)).toStrictEqual([])
  })

  it.each([
    ['Predicates', PREDICATES, UNSUPPORTED_PREDICATES],
    ['Filters', FILTERS, UNSUPPORTED_FILTERS],
  ])(
    '%s: has all that there are in its table, and names all that there are not',
    (title, known, unsupported) => {
      const section = sectionOf(title)
      const inTable = [...section.matchAll(/^\| `(\w+)/gm)].map((match) => match[1]!)
      expect(inTable.sort()).toStrictEqual(Object.keys(known).sort())
      const after = section.slice(section.indexOf('Not supported, and refused by name'))
      for (const name of Object.keys(unsupported)) expect(after).toContain(`\`${name}\``)
    },
  )
})

describe('examples/gateway/tidegate.yaml', () => {
  it('is right, and has a route for each of its promises', () => {
    const { listen, routes } = gatewayOf(read('examples/gateway/tidegate.yaml'))
    expect(listen).toMatchObject({ host: '127.0.0.1', port: 8000 })
    expect(routes.map(({ id, limits }) => [id, limits.limits.length, limits.queue])).toStrictEqual([
      ['api-route', 3, false],
      ['mail', 4, true],
    ])
  })

  it('is right for `tidegate validate`, which counts its routes', () => {
    const file = fileURLToPath(new URL('../../../examples/gateway/tidegate.yaml', import.meta.url))
    const lines: string[] = []
    const note = (line: string) => void lines.push(line)
    const terminal = { env: {}, out: note, err: note, paint: (_: string, text: string) => text }
    expect(validate(file, {}, terminal)).toBe(0)
    expect(lines).toStrictEqual([`${file} is right: 3 policies, 3 rules, 2 routes, store memory`])
  })
})
