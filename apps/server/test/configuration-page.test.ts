import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../src/config/load.js'
import { BUILT_IN } from '../src/config/schema/built-in-policies.js'
import { valueSchema } from '../src/config/schema/file-schema.js'
import { formatConfigErrors } from '../src/config-file/config-error.js'
import { optionsOf } from './options-of.js'

const page = readFileSync(new URL('../../../docs/operators/configuration.md', import.meta.url), 'utf8')

const builtIns = Object.keys(BUILT_IN)
/** Without the options of each built-in policy, which are those of every policy. */
const options = optionsOf(valueSchema).filter(
  ({ path }) =>
    !builtIns.some((name) => path.startsWith(`policies.${name}.`)) &&
    // docs/operators/gateway.md has the options of a Spring application.
    !/^(spring\.|server\b|management\b|resilience4j\b)/.test(path) &&
    !path.startsWith('gateway.default-filters['),
)

/** The tables of options: the code in the first column, and the last column. */
const rows = new Map(
  [...page.matchAll(/^\| `([^`]+)` \|.*\| ([^|]*) ?\|$/gm)]
    .map((match) => [match[1]!, match[2]!.trim()] as const)
    .filter(([name]) => !name.startsWith('TIDEGATE_')),
)

const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match) => ({
  line: page.slice(0, match.index).split('\n').length,
  text: match[1]!,
}))

/** Every variable of an example, with a value that is valid everywhere. */
const env = Object.fromEntries(
  [...page.matchAll(/\$\{([A-Z_]+)\}/g)].map((match) => [match[1]!, `the-value-of-${match[1]}`]),
)

describe('docs/operators/configuration.md', () => {
  const ordinaryOptions = options.filter(({ path }) => !builtIns.some((name) => path === `policies.${name}`))
  it.each(ordinaryOptions)('has $path in a table, with its default', ({ path, schema }) => {
    const shown = rows.get(path)
    expect(shown).toBeDefined()
    const { default: fallback } = schema
    if (fallback === undefined) expect(shown).not.toMatch(/^`/)
    else expect(shown).toContain(`\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``)
  })

  it('has no unknown option', () => {
    const paths = options.map(({ path }) => path)
    expect([...rows.keys()].filter((name) => !paths.includes(name))).toStrictEqual([])
  })

  it.each(Object.entries(BUILT_IN))('has the numbers of %s', (name, { algorithm: _, ...numbers }) => {
    const written = Object.entries(numbers).map(([field, value]) => `\`${field}: ${value}\``)
    expect(rows.get(`policies.${name}`)).toBe(written.join(', '))
  })

  it.each(examples)('has a valid example in line $line', ({ text }) => {
    const loaded = loadConfig({ text, env })
    expect('errors' in loaded ? formatConfigErrors(loaded.errors, 'example') : '').toBe('')
  })

  it('has an example of every option', () => {
    const used = new Set(examples.flatMap(({ text }) => pathsOf(parse(text), '')))
    expect(options.map(({ path }) => path).filter((path) => !used.has(path))).toStrictEqual([])
  })
})

/** The options that a file uses, by their names in the tables. */
function pathsOf(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsOf(item, `${path}[]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inside]) => {
    const isNamed = path === 'policies' ? builtIns.includes(name) : path !== 'gateway.cors'
    const at = path === '' ? name : `${path}.${isNamed ? name : '*'}`
    return [at, ...pathsOf(inside, at)]
  })
}
