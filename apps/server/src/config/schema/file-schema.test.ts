import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { optionsOf } from '../../../test/options-of.js'
import type { Config } from '../config.js'
import { loadConfig } from '../load.js'
import { editorSchema, valueSchema } from './file-schema.js'

describe('the published schema', () => {
  it('is up to date; if not, run npm run build && node apps/server/scripts/write-schema.mjs', () => {
    const published = readFileSync(new URL('../../../tidegate.schema.json', import.meta.url), 'utf8')
    expect(JSON.parse(published)).toStrictEqual(JSON.parse(JSON.stringify(editorSchema)))
  })

  it('accepts a variable for every value, unlike the schema of the replaced values', () => {
    const file = {
      port: '${PORT}',
      store: { url: '${URL}', prefix: '${P}', deadline: '${D}', maxKeys: '${M}', tls: '${TLS}' },
      policies: { a: { algorithm: '${A}', limit: '${L}', window: '${W}', onStoreFailure: '${O:-open}' } },
      callers: [{ name: '${N}', token: '${T}' }],
      log: { level: '${LEVEL:-info}' },
    }
    const ajv = new Ajv({ allowUnionTypes: true })
    expect(ajv.compile(editorSchema)(file)).toBe(true)
    expect(ajv.compile(valueSchema)(file)).toBe(false)
  })

  it('describes every option', () => {
    const options = optionsOf(editorSchema)
    expect(options.length).toBeGreaterThan(40)
    expect(options.filter(({ schema }) => !schema.description).map(({ path }) => path)).toStrictEqual([])
  })

  it('has a default for every option except these', () => {
    const without = optionsOf(valueSchema).filter(
      ({ path, schema }) => schema.default === undefined && !schema.properties && !isSpring(path),
    )
    expect(without.map(({ path }) => path)).toStrictEqual([
      'store.username',
      'store.password',
      'store.tls.ca',
      'store.tls.cert',
      'store.tls.key',
      'store.tls.serverName',
      'adminToken',
      'callers[].name',
      'callers[].token',
      'callers[].keyPrefix',
      'callers[].policies',
      'connections.maxPerClient',
      'keyPattern',
      'policies.*.algorithm',
      'policies.*.limit',
      'policies.*.window',
      'policies.*.capacity',
      'policies.*.refillRate',
      'policies.*.leakRate',
      'policies.*.blockFor',
      'rules[].name',
      'rules[].match.path',
      'rules[].match.methods',
      'rules[].match.header',
      'rules[].key',
      'rules[].policy',
      'gateway.listen.tls.certFile',
      'gateway.listen.tls.keyFile',
      'gateway.routes[].id',
      'gateway.routes[].uri',
      'gateway.routes[].predicates[].name',
      'gateway.routes[].filters[].name',
      'gateway.routes[].connectTimeout',
      'gateway.routes[].headersTimeout',
      'gateway.routes[].bodyTimeout',
      'gateway.routes[].healthCheck.path',
      'gateway.defaultFilters[].name',
      'gateway.default-filters[].name',
      'gateway.connections.maxPerClient',
      'rls.listen',
      'rls.tls.certFile',
      'rls.tls.keyFile',
      'rls.tls.clientCaFile',
      'rls.connections.maxPerClient',
    ])
  })

  it('has defaults that have the same effect when they are written in a file', () => {
    const file: Record<string, unknown> = {}
    for (const [name, { properties, default: fallback }] of Object.entries(valueSchema.properties ?? {})) {
      // A gateway needs routes.
      if (name === 'gateway' || isSpring(name)) continue
      const inside = Object.entries(properties ?? {}).map(([option, schema]) => [option, schema.default])
      file[name] = name === 'policies' ? builtIns() : properties ? Object.fromEntries(inside) : fallback
    }
    const written = loadConfig({ text: stringify(JSON.parse(JSON.stringify(file))), env: {} })
    // Only the lines of the file differ.
    const origins = expect.anything()
    expect(written).toStrictEqual({ config: { ...loadedDefaults(), origins } })
  })
})

/** Options of a Spring application have the defaults of the options that they replace. */
function isSpring(path: string): boolean {
  return ['spring', 'server', 'management', 'resilience4j'].includes(path.split('.')[0]!)
}

function loadedDefaults(): Config {
  const loaded = loadConfig({ env: {} })
  if ('errors' in loaded) throw new Error('the defaults have errors')
  return loaded.config
}

/** The built-in policies with every default written out. */
function builtIns(): object {
  const policies = Object.entries(valueSchema.properties?.policies?.properties ?? {})
  return Object.fromEntries(
    policies.map(([name, { properties = {} }]) => [
      name,
      Object.fromEntries(Object.entries(properties).map(([field, schema]) => [field, schema.default])),
    ]),
  )
}
