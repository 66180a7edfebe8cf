import { describe, expect, it } from 'vitest'
import { readDocument } from '../config-file/document.js'
import type { JsonSchema } from '../config-file/json-schema.js'
import { springDialect } from './spring-dialect.js'

const text: JsonSchema = { type: 'string' }
const schema: JsonSchema = {
  type: 'object',
  properties: {
    own: { type: 'object' },
    spring: {
      type: 'object',
      properties: {
        name: text,
        config: { type: 'object', properties: {} },
        'some-port': { type: 'integer' },
        flag: { type: 'boolean' },
        routes: {
          type: 'array',
          items: {
            type: 'object',
            properties: { id: text, args: { type: 'object' }, tags: { type: 'array', items: text } },
          },
        },
        paths: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { 'max-age': { type: 'integer' } } },
        },
        lists: {
          type: 'object',
          additionalProperties: { type: 'array', items: { type: 'object', properties: { id: text } } },
        },
      },
    },
    server: { type: 'object', properties: { port: { type: 'integer' } } },
  },
}

function read(yaml: string, env: Record<string, string> = {}, profiles?: string) {
  const document = readDocument(yaml, schema, env, springDialect({ env, profiles }))
  const errors = document.errors().map(({ line, path, message }) => `${line} ${path}: ${message}`)
  return {
    document,
    errors,
    value: document.value === undefined ? undefined : JSON.parse(JSON.stringify(document.value)),
    unused: document.unused.map(({ path }) => path.join('.')),
  }
}

describe('a Spring file', () => {
  it.each([
    ['sections', 'spring:\n  name: a\n  some-port: 1', { spring: { name: 'a', 'some-port': 1 } }],
    ['dotted keys', 'spring.name: a\nspring.some-port: 1', { spring: { name: 'a', 'some-port': 1 } }],
    ['other spellings', 'spring:\n  somePort: 1', { spring: { 'some-port': 1 } }],
    ['underscores', 'spring: { SOME_PORT: 1 }', { spring: { 'some-port': 1 } }],
    [
      'numbers as text',
      'spring: { some-port: "1", name: 0123 }',
      { spring: { 'some-port': 1, name: '0123' } },
    ],
    ['words as text', 'spring: { flag: "true", name: true }', { spring: { flag: true, name: 'true' } }],
    ['keys without a value', 'spring: { name: , flag: true }', { spring: { flag: true } }],
    [
      'lists and maps without entries',
      'spring: { routes: [{ id: a, args: , tags: }] }',
      { spring: { routes: [{ id: 'a' }] } },
    ],
    [
      'indexes',
      'spring.routes[1].id: b\nspring.routes[0].id: a',
      { spring: { routes: [{ id: 'a' }, { id: 'b' }] } },
    ],
    [
      'dotted keys of a list in a list',
      'spring.routes[0].tags[0]: a\nspring.routes[0].tags[1]: b\nspring.routes[0].id: c',
      { spring: { routes: [{ tags: ['a', 'b'], id: 'c' }] } },
    ],
    [
      'paths as keys',
      "spring: { paths: { '[/a.b/**]': { maxAge: 1 } } }",
      { spring: { paths: { '/a.b/**': { 'max-age': 1 } } } },
    ],
    [
      'paths in dotted keys',
      'spring.paths.[/a/**].max-age: 1',
      { spring: { paths: { '/a/**': { 'max-age': 1 } } } },
    ],
    [
      'indexes in a map of lists',
      'spring:\n  lists:\n    a-b[0].id: c\n    a-b[1]: { id: d }\n    e.f: [{ id: g }]\nspring.lists.a-b[2].id: h',
      { spring: { lists: { 'a-b': [{ id: 'c' }, { id: 'd' }, { id: 'h' }], 'e.f': [{ id: 'g' }] } } },
    ],
    [
      'free names',
      'spring: { routes: [{ args: { a.b: 1, c-d: 2 } }] }',
      { spring: { routes: [{ args: { 'a.b': 1, 'c-d': 2 } }] } },
    ],
    [
      'aliases',
      'spring:\n  routes:\n    - { id: a, args: &x { b: 1 } }\n    - { id: c, args: *x }',
      {
        spring: {
          routes: [
            { id: 'a', args: { b: 1 } },
            { id: 'c', args: { b: 1 } },
          ],
        },
      },
    ],
    [
      'merged keys',
      'app: &x { name: a, flag: true }\nspring: { <<: *x, name: b }',
      { spring: { name: 'b', flag: true } },
    ],
    ['properties of the file', 'app.host: h\nspring: { name: "${app.host}" }', { spring: { name: 'h' } }],
    [
      'properties as numbers',
      'app.port: 8081\nspring: { some-port: "${app.port}" }',
      { spring: { 'some-port': 8081 } },
    ],
    [
      'sections of other options',
      'own: { a-b: 1, c.d: 2 }\nspring: {}',
      { own: { 'a-b': 1, 'c.d': 2 }, spring: {} },
    ],
  ])('may have %s', (_title, yaml, value) => {
    const result = read(yaml)
    expect(result.errors).toStrictEqual([])
    expect(result.value).toStrictEqual(value)
  })

  it('lists unused options by their first unknown name, without replacing their placeholders', () => {
    const { unused, errors } = read(
      'spring: { jpa: { show-sql: true }, name: a }\nserver.netty.x: 1\njwt: { key: "${NO}" }',
    )
    expect(unused).toStrictEqual(['spring.jpa', 'server.netty', 'jwt'])
    expect(errors).toStrictEqual([])
  })

  it('reports errors at the position of the value', () => {
    const { errors } = read('spring.name: a\n---\nspring:\n  name: ${NO}\n')
    expect(errors).toStrictEqual([expect.stringMatching(/^4 spring\.name: \$\{NO\} is neither/)])
  })

  it('reports duplicate keys, keys that are not text, and broken documents', () => {
    expect(read('spring: { name: a, name: b }').errors).toStrictEqual([
      expect.stringMatching(/duplicate key "name"/),
    ])
    expect(read('spring: {}\n---\na: [').value).toBeUndefined()
  })

  it('may have gaps in lists that are not used, and reports those of others at their line', () => {
    const { unused, errors } = read('spring.name: a\napp.servers[1]: b\napp.rooms[2].id: c\n')
    expect([unused, errors]).toStrictEqual([['app'], []])
    const yaml = 'spring.name: a\nspring.routes[2].id: b\nspring.routes[0].tags[1]: c\n'
    expect(read(yaml).errors).toStrictEqual([
      '2 : spring.routes[2] is set, but spring.routes[1] is missing; number the entries from 0 without gaps',
      '3 : spring.routes[0].tags[1] is set, but spring.routes[0].tags[0] is missing; number the entries from 0 without gaps',
    ])
  })

  it.each([
    ['one section', (i: number) => `  k${i}: 1`],
    ['dotted keys', (i: number) => `  a.k${i}: 1`],
  ])('takes time in proportion to the keys of %s', (_title, line) => {
    const withKeys = (count: number) =>
      `spring: { name: a }\napp:\n${Array.from({ length: count }, (_, i) => line(i)).join('\n')}\n`
    const yaml = withKeys(60_000)
    const start = performance.now()
    expect(read(yaml).errors).toStrictEqual([])
    expect(performance.now() - start).toBeLessThan(10_000)
  })

  it('bounds the values of its aliases', () => {
    const lines = Array.from({ length: 9 }, (_, i) => `  x${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(9)}]`)
    const { errors } = read(`spring: {}\nbomb:\n  x0: &a0 [1]\n${lines.join('\n')}\n`)
    expect(errors).toStrictEqual([
      expect.stringContaining('the aliases expand this file to more than 200,000 values'),
    ])
  })
})

describe('several documents', () => {
  const yaml = `
spring: { name: base, some-port: 1, routes: [{ id: a }, { id: b }] }
---
spring:
  config.activate.on-profile: prod
  name: prod
  routes: [{ id: c }]
---
spring.config.activate.on-profile: dev | test
spring.name: dev
`
  it.each([
    ['none', {}, undefined, 'base', ['default']],
    ['SPRING_PROFILES_ACTIVE', { SPRING_PROFILES_ACTIVE: 'prod' }, undefined, 'prod', ['prod']],
    ['the option', { SPRING_PROFILES_ACTIVE: 'prod' }, 'test', 'dev', ['test']],
    ['both', {}, 'prod, dev', 'dev', ['prod', 'dev']],
  ])('apply by profile: %s', (_title, env, profiles, name, active) => {
    const { value, document } = read(yaml, env as Record<string, string>, profiles)
    expect(value.spring).toMatchObject({ name, 'some-port': 1 })
    expect(document.profiles).toStrictEqual(active)
  })

  it('replace lists as a whole', () => {
    expect(read(yaml, {}, 'prod').value.spring.routes).toStrictEqual([{ id: 'c' }])
  })

  it('that do not apply are listed as unused', () => {
    expect(read(yaml, {}, 'prod').unused).toStrictEqual(['document for profile.dev | test'])
  })

  it.each([
    ['spring.profiles.active: prod', 'prod'],
    ['spring.profiles.active: "${MODE:prod}"', 'prod'],
    ['spring: { profiles: { active: [x, prod] } }', 'prod'],
    ['spring.profiles: { active: live, group: { live: [prod, eu] } }', 'prod'],
    ['spring.profiles.include: prod', 'prod'],
    ['spring.profiles.default: prod', 'prod'],
  ])('apply by the profiles in the file: %s', (first, name) => {
    const { value, unused } = read(`${first}\n---\nspring: { profiles: prod, name: prod }\n`)
    expect(value.spring.name).toBe(name)
    expect(unused).toStrictEqual([])
  })

  it('for a cloud platform never apply', () => {
    const { value } = read(
      'spring.name: a\n---\nspring: { config.activate.on-cloud-platform: kubernetes, name: b }',
    )
    expect(value.spring.name).toBe('a')
  })

  it('are an error in other files', () => {
    expect(read('own: {}\n---\nown: {}').errors).toStrictEqual([
      expect.stringContaining('only one document is allowed'),
    ])
  })
})

describe('the environment', () => {
  it('overrides properties by their names in capitals', () => {
    const { value } = read('spring.name: a', { SPRING_NAME: 'b', SPRING_SOMEPORT: '7', SERVER_PORT: '9' })
    expect(value).toStrictEqual({ spring: { name: 'b', 'some-port': 7 }, server: { port: 9 } })
  })

  it('is not shown in messages', () => {
    const { document } = read('spring.name: a', { SPRING_NAME: 'hunter2-secret' })
    document.addError(['spring', 'name'], 'got "hunter2-secret"')
    expect(document.errors()[0]!.message).toBe('got "${SPRING_NAME}"')
  })
})
