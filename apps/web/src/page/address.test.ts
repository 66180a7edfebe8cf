import { expect, it } from 'vitest'
import { formatPlace, momentMs, oneOf, parsePlace, wholeNumber } from './address.js'

it('parsePlace is the inverse of formatPlace', () => {
  const place = {
    view: 'compare',
    params: new Map([
      ['limit', '5'],
      ['x', '<&=?#> 한국어'],
    ]),
  }
  expect(parsePlace(formatPlace(place))).toStrictEqual(place)
})

it.each([
  ['', '', []],
  ['#', '', []],
  ['#/stories', 'stories', []],
  ['#/stories?a=1&a=2', 'stories', [['a', '2']]],
  ['#/choose&lang=ko', 'choose', [['lang', 'ko']]],
  ['#?%E0%A4%A', '', [['\uFFFD%A', '']]],
])('parsePlace accepts %s', (hash, view, params) => {
  expect(parsePlace(hash)).toStrictEqual({ view, params: new Map(params as [string, string][]) })
})

it.each([
  ['5', 5],
  ['1', 1],
  ['9', 9],
  ['0', 7],
  ['10', 7],
  ['-5', 7],
  ['5.5', 7],
  ['5e0', 7],
  [' 5', 7],
  ['', 7],
  [undefined, 7],
  ['9'.repeat(400), 7],
])('wholeNumber from 1 to 9 with fallback 7: %s is %d', (text, expected) => {
  expect(wholeNumber(text, 1, 9, 7)).toBe(expected)
})

it.each([
  ['0', 0],
  ['500.004', 500.004],
  ['60000', 60_000],
  ['60000.001', 7],
  ['0.0001', 7],
  ['.5', 7],
  ['5.', 7],
  ['-0', 7],
  ['NaN', 7],
  [undefined, 7],
])('momentMs within a minute with fallback 7: %s is %d', (text, expected) => {
  expect(momentMs(text, 60_000, 7)).toBe(expected)
})

it('momentMs reads times of an axis of months', () => {
  expect(momentMs('10713600000.5', 16_070_400_000, 7)).toBe(10_713_600_000.5)
})

it('oneOf returns a choice or the fallback', () => {
  expect(oneOf('b', ['a', 'b'], 'a')).toBe('b')
  expect(oneOf('toString', ['a', 'b'], 'a')).toBe('a')
})
