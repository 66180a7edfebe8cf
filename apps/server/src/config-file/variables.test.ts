import { describe, expect, it } from 'vitest'
import { replaceVariables, toSchemaType } from './variables.js'

const env = { NAME: 'ann', EMPTY: '', NESTED: '${NAME}', YAML: 'a: [b, c]\n# d', _x1: 'under' }

describe('a variable', () => {
  it.each([
    ['no variable', 'no variable'],
    ['', ''],
    ['${NAME}', 'ann'],
    ['user:${NAME}:${NAME}!', 'user:ann:ann!'],
    ['${_x1}', 'under'],
    ['${NAME:-bob}', 'ann'],
    ['${MISSING:-bob}', 'bob'],
    ['${MISSING:-}', ''],
    ['${MISSING:-a:-b $x}', 'a:-b $x'],
    ['${EMPTY:-bob}', 'bob'],
    ['${NAME:bob}', 'ann'],
    ['${MISSING:http://localhost:8081}', 'http://localhost:8081'],
    ['${MISSING:}', ''],
    ['${EMPTY}', ''],
    ['${NESTED}', '${NAME}'],
    ['${YAML}', 'a: [b, c]\n# d'],
    ['$${NAME}', '${NAME}'],
    ['$$${NAME}', '$${NAME}'],
    ['$${NAME} ${NAME}', '${NAME} ann'],
    ['$NAME $ {NAME} {NAME} $', '$NAME $ {NAME} {NAME} $'],
    ['^[a-z]+$', '^[a-z]+$'],
  ])('%j becomes %j', (written, text) => {
    expect(replaceVariables(written, env)).toMatchObject({ text })
  })

  it('reports the values that came from the environment', () => {
    expect(replaceVariables('$${NAME}', env)).toMatchObject({ values: [] })
    expect(replaceVariables('x${NAME}${MISSING:-y}', env)).toMatchObject({ values: ['ann', ''] })
  })

  it.each(['${MISSING}', 'a ${NAME} ${MISSING}', '${toString}', '${__proto__}'])(
    '%s is not set',
    (written) => {
      expect(replaceVariables(written, env)).toStrictEqual({
        problem: expect.stringMatching(
          /^environment variable (MISSING|toString|__proto__) is not set; set it/,
        ),
      })
    },
  )

  it.each([
    '${}',
    '${NAME',
    'a ${',
    '${1}',
    '${NA ME}',
    '${NAME-x}',
    '${NAME:?x}',
    '${MISSING:-${NAME}}',
    '${a.b}',
  ])('%s is not valid', (written) => {
    expect(replaceVariables(written, env)).toStrictEqual({
      problem: expect.stringContaining('write ${NAME} or ${NAME:-fallback}'),
    })
  })
})

describe('text from the environment', () => {
  it.each([
    ['8080', { type: 'integer' }, 8080],
    ['0.5', { type: ['number', 'string'] }, 0.5],
    ['100/1m', { type: ['number', 'string'] }, '100/1m'],
    ['60000', { type: ['integer', 'string'] }, 60_000],
    ['true', { type: ['boolean', 'object'] }, true],
    ['false', { type: ['boolean', 'object'] }, false],
    ['yes', { type: ['boolean', 'object'] }, 'yes'],
    ['0123456', { type: 'string' }, '0123456'],
    ['true', { type: 'string' }, 'true'],
    ['eighty', { type: 'integer' }, 'eighty'],
    ['', { type: 'integer' }, ''],
    ['1e9', { type: 'integer' }, '1e9'],
    ['12', undefined, '12'],
  ])('%j is converted for %j', (text, schema, value) => {
    expect(toSchemaType(text, schema)).toBe(value)
  })
})
