import { describe, expect, it } from 'vitest'
import { formatConfigErrors, pathText } from './config-error.js'

describe('an error of the file', () => {
  it.each([
    [[], ''],
    [['port'], 'port'],
    [['policies', 'per-user', 'limit'], 'policies.per-user.limit'],
    [['rules', 0, 'match', 'methods', 1], 'rules[0].match.methods[1]'],
    [['policies', 'a b'], 'policies["a b"]'],
    [['policies', 'a.b', 'limit'], 'policies["a.b"].limit'],
    [['\u001b[31m'], '["\\u001b[31m"]'],
    [['\u009b31m\u2028'], '["\\u009b31m\\u2028"]'],
    [['x'.repeat(1000)], `["${'x'.repeat(57)}…"]`],
  ])('at %j has the path %s', (path, text) => {
    expect(pathText(path)).toBe(text)
  })

  it('has no position without a file', () => {
    const error = { line: 1, column: 1, path: 'rls.config', message: 'is missing' }
    expect(formatConfigErrors([error], '')).toBe('rls.config: is missing')
  })

  it('is one line, with its position if it is in the file', () => {
    const errors = [
      { path: 'TIDEGATE_PORT', message: 'must be a number' },
      { line: 7, column: 5, path: 'port', message: 'must be a number' },
      { line: 9, column: 1, path: '', message: 'a tab must not be used' },
    ]
    expect(formatConfigErrors(errors, 'tidegate.yaml')).toBe(
      'TIDEGATE_PORT: must be a number\ntidegate.yaml:7:5  port: must be a number\ntidegate.yaml:9:1  a tab must not be used',
    )
  })
})
