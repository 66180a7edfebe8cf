import { describe, expect, it } from 'vitest'
import { nearestWords } from './nearest-words.js'

const KEYS = ['store', 'host', 'port', 'policies', 'rules', 'default', 'trustedProxies', 'forwardedHeader']
const ALGORITHMS = ['token-bucket', 'leaky-bucket', 'sliding-window-counter', 'sliding-window-log']

describe('the nearest word', () => {
  it.each([
    ['a letter missing', 'polices', KEYS, ['policies']],
    ['a letter too many', 'rulles', KEYS, ['rules']],
    ['another letter', 'stora', KEYS, ['store']],
    ['two letters swapped', 'prot', KEYS, ['port']],
    ['another case', 'Store', KEYS, ['store']],
    ['underscores for humps', 'trusted_proxies', KEYS, ['trustedProxies']],
    ['capitals and underscores', 'TOKEN_BUCKET', ALGORITHMS, ['token-bucket']],
    ['only the beginning', 'pol', KEYS, ['policies']],
    [
      'only the beginning, of two',
      'sliding-windw',
      ALGORITHMS,
      ['sliding-window-counter', 'sliding-window-log'],
    ],
    ['more than the word', 'warning', ['info', 'warn', 'error'], ['warn']],
    ['a word without a similar one', 'colour', KEYS, []],
    ['one letter', 'x', KEYS, []],
    ['no letter', '', KEYS, []],
    ['a very long word', 'store'.repeat(1000), KEYS, []],
    ['no choices', 'store', [], []],
  ])('%s: %s', (_title, word, choices, expected) => {
    expect(nearestWords(word, choices)).toStrictEqual(expected)
  })
})
