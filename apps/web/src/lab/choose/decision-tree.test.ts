import { expect, it } from 'vitest'
import { algorithmFor, QUESTIONS, readAnswers, writeAnswers } from './decision-tree.js'

it.each([
  ['y', 'token-bucket'],
  ['ny', 'leaky-bucket'],
  ['nny', 'fixed-window'],
  ['nnny', 'sliding-window-log'],
  ['nnnn', 'sliding-window-counter'],
  ['nnn', undefined],
  ['', undefined],
])('%s leads to %s', (text, expected) => {
  expect(algorithmFor(readAnswers(text))).toBe(expected)
  expect(writeAnswers(readAnswers(text))).toBe(text)
})

it.each(['yn', 'yy', 'nnnny', 'nnnnn', 'x', 'N', '<img src=x>', 'n'.repeat(5000)])(
  'readAnswers ignores %s',
  (text) => expect(readAnswers(text)).toStrictEqual([]),
)

it('every algorithm is reachable', () => {
  const reached = [...QUESTIONS.map((question) => question.ifYes), algorithmFor([false, false, false, false])]
  expect(new Set(reached).size).toBe(5)
})
