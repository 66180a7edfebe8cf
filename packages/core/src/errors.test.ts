import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ERROR_CODES, show } from './errors.js'

it('docs/errors.md has a section for every code', () => {
  const docs = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  const sections = [...docs.matchAll(/^## (.+)$/gm)].map((match) => match[1])
  expect(sections).toStrictEqual([...ERROR_CODES])
})

it('formats any value for a message, short and without throwing', () => {
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const hostile = {
    toJSON: () => undefined,
    get [Symbol.toStringTag](): string {
      throw new Error('no')
    },
  }
  const odd = [Symbol('s'), () => 1, circular, proxy, hostile]
  const values = ['text', 5, Number.NaN, 5n, null, undefined, ...odd, 'x'.repeat(100)]
  for (const value of values) expect(show(value).length).toBeLessThanOrEqual(60)
  const named = { handler() {} }
  expect([show(named.handler), show(() => 1), show([() => 1]), show(named), show(Map)]).toStrictEqual([
    '[function handler]',
    '[function]',
    '[[function]]',
    '{"handler":[function handler]}',
    '[function Map]',
  ])
  expect(show(class Store {})).toBe('[class Store]')
  expect([show('a'), show(5), show(Number.NaN), show(undefined), show(5n)]).toStrictEqual([
    '"a"',
    '5',
    'NaN',
    'undefined',
    '5n',
  ])
})
