import { expect, it } from 'vitest'
import { didYouMean } from './suggestions.js'

const KEYS = ['store', 'host', 'port', 'policies', 'rules', 'default', 'trustedProxies', 'forwardedHeader']
const ALGORITHMS = ['token-bucket', 'leaky-bucket', 'sliding-window-counter', 'sliding-window-log']

it('the nearest word is suggested, or both if two are equally near', () => {
  expect(didYouMean('stor', KEYS)).toBe('did you mean "store"?')
  expect(didYouMean('sliding', ALGORITHMS)).toBe(
    'did you mean "sliding-window-counter" or "sliding-window-log"?',
  )
  expect(didYouMean('colour', KEYS)).toBe(undefined)
})
