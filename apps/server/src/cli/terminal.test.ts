import { describe, expect, it } from 'vitest'
import { terminalOf } from './terminal.js'

function terminal(env: Record<string, string>, isTTY: { out: boolean; err: boolean }) {
  const written = { out: '', err: '' }
  const stream = (name: 'out' | 'err') => ({
    isTTY: isTTY[name],
    write(text: string) {
      written[name] += text
    },
  })
  return { ...terminalOf({ env, stdout: stream('out'), stderr: stream('err') }), written }
}

describe('colours', () => {
  const both = { out: true, err: true }
  it.each([
    ['on a terminal', {}, both, 'out', true],
    ['in a pipe', {}, { out: false, err: true }, 'out', false],
    ['on a terminal for errors, while the output is a pipe', {}, { out: false, err: true }, 'err', true],
    ['for errors in a pipe', {}, { out: true, err: false }, 'err', false],
    ['with NO_COLOR', { NO_COLOR: '1' }, both, 'out', false],
    ['with an empty NO_COLOR', { NO_COLOR: '' }, both, 'out', true],
    ['on a terminal without colours', { TERM: 'dumb' }, both, 'out', false],
  ] as const)('%s', (_title, env, isTTY, to, isColoured) => {
    const text = terminal(env, isTTY).paint('green', 'allowed', to)
    expect(text).toBe(isColoured ? '\u001b[32mallowed\u001b[39m' : 'allowed')
  })
})

it('results go to the output, other lines to the error output', () => {
  const { out, err, written } = terminal({}, { out: false, err: false })
  out('a')
  err('b')
  out('c')
  expect(written).toStrictEqual({ out: 'a\nc\n', err: 'b\n' })
})
