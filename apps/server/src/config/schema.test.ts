import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { optionsOf } from '../../test/options-of.js'
import type { Config } from './config.js'
import { loadConfig } from './load.js'
import { defaultOf, editorSchema, valueSchema } from './schema.js'

describe('the published schema', () => {
  it('is the one in this version; if not: npm run build && node apps/server/scripts/write-schema.mjs', () => {
    const published = readFileSync(new URL('../../tidegate.schema.json', import.meta.url), 'utf8')
    expect(JSON.parse(published)).toStrictEqual(JSON.parse(JSON.stringify(editorSchema)))
  })

  it('lets a variable stand for every value, which the service does only until it is replaced', () => {
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

  it('has a default for every option, but for those that have none', () => {
    const without = optionsOf(valueSchema).filter(
      ({ path, schema }) =>
        // What Spring's places have inside is what the gateway has.
        schema.default === undefined && !schema.properties && !path.startsWith('spring.'),
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
    ])
  })

  it('has defaults that may be written down, and mean the same', () => {
    const file: Record<string, unknown> = {}
    for (const [name, { properties }] of Object.entries(valueSchema.properties ?? {})) {
      // A gateway is there by being written down, and has routes.
      if (name === 'gateway' || name === 'spring') continue
      const inside = Object.keys(properties ?? {}).map((option) => [option, defaultOf(name, option)])
      file[name] =
        name === 'policies' ? builtIns() : properties ? Object.fromEntries(inside) : defaultOf(name)
    }
    const written = loadConfig({ text: stringify(JSON.parse(JSON.stringify(file))), env: {} })
    // Only that it is written down is another matter.
    const origins = expect.anything()
    expect(written).toStrictEqual({ config: { ...loadedDefaults(), origins } })
  })
})

function loadedDefaults(): Config {
  const loaded = loadConfig({ env: {} })
  if ('mistakes' in loaded) throw new Error('the defaults have mistakes')
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
