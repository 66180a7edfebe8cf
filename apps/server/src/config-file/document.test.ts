import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatConfigErrors } from './config-error.js'
import { readDocument } from './document.js'
import type { JsonSchema } from './json-schema.js'

const schema: JsonSchema = {
  type: 'object',
  properties: {
    port: { type: 'integer' },
    name: { type: 'string' },
    rate: { type: ['number', 'string'] },
    list: { type: 'array', items: { type: 'integer' } },
    section: { type: 'object', properties: { deep: { type: 'integer' } } },
  },
}
const read = (text: string, env = {}) => readDocument(text, schema, env)
const withPrototypes = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('a document', () => {
  it.each([
    ['no text', '', {}],
    ['comments only', '# port: 8080\n\n', {}],
    ['the word null', 'null', {}],
    ['a byte order mark', '\ufeffport: 8080', { port: 8080 }],
    ['Windows lines', 'port: 8080\r\nname: a\r\n', { port: 8080, name: 'a' }],
    ['the end marked', '---\nport: 8080\n...\n', { port: 8080 }],
    ['tabs between words', 'port:\t8080\t# here\n', { port: 8080 }],
    ['yes and no, which are text', 'name: yes\nrate: no', { name: 'yes', rate: 'no' }],
    ['an alias', 'section: &a { deep: 1 }\nother: *a', { section: { deep: 1 }, other: { deep: 1 } }],
    ['the last anchor of a name', 'a: &x 1\nb: *x\nc: &x 2\nd: *x', { a: 1, b: 1, c: 2, d: 2 }],
    ['an empty section', 'section:\nlist:\nport: 1', { port: 1 }],
    ['numbers as keys', '1: a', { 1: 'a' }],
    ['several lines of text', 'name: |\n  a\n  b\n', { name: 'a\nb\n' }],
  ])('may have %s', (_title, text, value) => {
    const document = read(text)
    expect(document.errors()).toStrictEqual([])
    expect(withPrototypes(document.value)).toStrictEqual(value)
  })

  it('may have keys such as __proto__', () => {
    const { value } = read('__proto__: { port: 1 }\nconstructor: 2')
    expect(Object.keys(value as object)).toStrictEqual(['__proto__', 'constructor'])
    expect((value as { port?: unknown }).port).toBe(undefined)
  })

  it('converts variables to the type of the option, and never parses them as YAML', () => {
    const env = { PORT: '8080', DIGITS: '0123', YAML: '1]\nport: 2 # [', RATE: '5' }
    const text = 'port: ${PORT}\nname: ${DIGITS}\nrate: ${RATE}\nlist: ["${PORT}", "${YAML}"]'
    expect(withPrototypes(read(text, env).value)).toStrictEqual({
      port: 8080,
      name: '0123',
      rate: 5,
      list: [8080, '1]\nport: 2 # ['],
    })
    expect(read(text, env).variableAt(['list', 1])).toBe('${YAML}')
    expect(read('port: 80', env).variableAt(['port'])).toBe(undefined)
  })

  it('reports errors at a value, at its key, or at the parent of a missing value', () => {
    const document = read('section:\n  deep:   5\nlist: [1,\n  22]')
    document.addError(['section', 'deep'], 'a')
    document.addError(['section'], 'b', 'key')
    document.addError(['section', 'wide'], 'c')
    document.addError(['list', 1], 'd')
    document.addError(['nowhere', 0], 'e')
    expect(formatConfigErrors(document.errors(), 'f')).toBe(
      [
        'f:1:1  section: b',
        'f:1:1  section.wide: c',
        'f:1:1  nowhere[0]: e',
        'f:2:11  section.deep: a',
        'f:4:3  list[1]: d',
      ].join('\n'),
    )
  })

  it('keeps the first error of each value, and reports which values are valid', () => {
    const document = read('section: { deep: 1 }\nlist: [1, 2]\nport: 3')
    document.addError(['section', 'deep'], 'first')
    document.addError(['section', 'deep'], 'second')
    document.addError(['list'], 'third')
    expect(document.errors().map(({ message }) => message)).toStrictEqual(['first', 'third'])
    const isRight = (...path: (string | number)[]) => document.isValid(path)
    expect([isRight('section', 'deep'), isRight('section'), isRight()]).toStrictEqual([false, false, false])
    expect([isRight('list', 1), isRight('section', 'wide'), isRight('port')]).toStrictEqual([
      false,
      true,
      true,
    ])
  })

  it('lists a thousand errors and counts the others', () => {
    const document = read('port: 1')
    for (let i = 0; i < 1234; i++) document.addError(['list', i], 'is wrong')
    expect(document.errors()).toHaveLength(1001)
    expect(document.errors().at(-1)).toStrictEqual({ path: '', message: 'and 234 more errors' })
  })

  it.each([
    ['brackets', '['.repeat(50_000)],
    ['braces', '{a: '.repeat(20_000)],
    ['dashes', '- '.repeat(20_000)],
    ['questions', '? '.repeat(20_000)],
    ['lines', Array.from({ length: 500 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')],
  ])('rejects %s that are nested too deep', (_title, text) => {
    expect(read(text).errors()).toMatchObject([{ message: 'nested more than 64 levels deep' }])
  })

  it('may have a megabyte', () => {
    expect(read(`#${' '.repeat(1_048_575)}`).errors()).toStrictEqual([])
    expect(read(`#${' '.repeat(1_048_576)}`).errors()).toMatchObject([{ line: 1, column: 1 }])
  })

  it('is either read or has errors, for any text', () => {
    const piece = fc.constantFrom(
      ...[
        'port',
        'name',
        ': ',
        ':',
        '\n',
        '  ',
        '\t',
        '- ',
        '[',
        ']',
        '{',
        '}',
        ',',
        '&a ',
        '*a',
        '"',
        "'",
        '#',
        '|',
        '>',
      ],
      ...[
        '? ',
        '!!int ',
        '!x ',
        '---\n',
        '...\n',
        '%YAML 1.1\n',
        '${A}',
        '${B:-x}',
        '${',
        '$${',
        '<<',
        '~',
        '\0',
        '\r',
        '@',
      ],
    )
    const texts = fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 30 })
    fc.assert(
      fc.property(texts, (pieces) => {
        const document = read(pieces.join(''), { A: '5' })
        for (const { line = 0, column = 0, message } of document.errors()) {
          expect(line).toBeGreaterThanOrEqual(1)
          expect(column).toBeGreaterThanOrEqual(1)
          expect(message).not.toBe('')
        }
        if (document.value === undefined) expect(document.errors()).not.toHaveLength(0)
      }),
      { seed: 4, numRuns: 3000 },
    )
  })
})
