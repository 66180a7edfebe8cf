import { expect, it } from 'vitest'
import { optionsOf, policyOf, readChoice, USE_SETTINGS, USES } from './choice.js'

const read = (query: string) => readChoice(new Map(new URLSearchParams(query)))

it.each([
  ['', undefined],
  ['answers=nn', undefined],
  ['answers=y', 'token-bucket'],
  ['answers=nnnn&limit=5&window=1h', 'sliding-window-counter'],
  ['for=attempts', 'fixed-window'],
  ['for=quota', 'fixed-window'],
  ['for=in-flight', 'concurrency'],
  ['for=tokens', 'sliding-window-counter'],
  ['for=tokens&window=month', 'fixed-window'],
  ['for=<script>', undefined],
])('%s leads to %s', (query, algorithm) => {
  expect(read(query)?.algorithm).toBe(algorithm)
})

it.each([
  ['answers=nny&window=month', { limit: 100, window: '1m' }],
  ['for=attempts', { limit: 5, window: '15m', start: 'first-request' }],
  ['for=quota&window=1m&timeZone=Mars', { limit: 1000, window: 'month', timeZone: 'UTC' }],
  ['for=quota&blockFor=1h&countDenied=true', { limit: 1000, window: 'month', timeZone: 'UTC' }],
  ['for=in-flight&limit=3&blockFor=1h&ttl=2d', { limit: 3, ttl: '30s' }],
  ['answers=y&countDenied=true&blockFor=1h', { capacity: 100, refillRate: '100/1m', blockFor: '1h' }],
])('%s has only the options that fit: %j', (query, options) => {
  expect(optionsOf(read(query)!)).toStrictEqual(options)
})

it('the largest numbers of every use are valid', () => {
  for (const use of USES) {
    for (const answers of ['y', 'ny', 'nny', 'nnny', 'nnnn']) {
      const { maxLimit } = USE_SETTINGS[use]
      const choice = read(`for=${use}&answers=${answers}&limit=${maxLimit}`)!
      expect(policyOf(choice).limit).toBe(maxLimit)
    }
  }
})
