import { describe, expect, it } from 'vitest'
import { prettyStream } from './pretty.js'

describe('a log line on a terminal', () => {
  const written = (line: object, env = {}) => {
    const parts: string[] = []
    prettyStream({ write: (part) => parts.push(part) }, env).write(JSON.stringify(line))
    return parts.join('')
  }
  const line = { level: 'warn', time: '2026-11-15T12:34:56.789Z', msg: 'Something changes' }

  it('has time, level and message, and its fields below', () => {
    const text = written(
      { ...line, docs: 'http://a/docs', errors: ['one', 'two'], count: 3 },
      { NO_COLOR: '1' },
    )
    expect(text.split('\n').map((part) => part.trim().replace(/ +/g, ' '))).toStrictEqual([
      expect.stringMatching(/^\d\d:34:56 warn Something changes$/),
      'docs http://a/docs',
      'errors one',
      'errors two',
      'count 3',
      '',
    ])
  })

  it('has colours unless they are disabled', () => {
    expect(written(line)).toContain('\u001b[33m')
    expect(written(line, { NO_COLOR: '1' })).not.toContain('\u001b')
    expect(written(line, { TERM: 'dumb' })).not.toContain('\u001b')
  })

  it('escapes control characters', () => {
    const text = written({ ...line, msg: 'a\u001b[2Jb', key: 'c\r\nd' }, { NO_COLOR: '1' })
    expect(text).toContain('a\\u001b[2Jb')
    expect(text).toContain('c\\u000d\\u000ad')
  })

  it('shows the stack of an error', () => {
    const text = written(
      { ...line, err: { message: 'broken', stack: 'Error: broken\n    at here' } },
      { NO_COLOR: '1' },
    )
    expect(text).toContain('Error: broken\n')
    expect(text).toContain('at here\n')
  })
})
