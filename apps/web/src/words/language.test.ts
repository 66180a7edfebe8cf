import { expect, it } from 'vitest'
import { languageOf } from './language.js'

it.each([
  ['ko', ['en-US'], 'ko'],
  [undefined, ['ko-KR', 'en'], 'ko'],
  [undefined, ['fr', 'ko'], 'ko'],
  [undefined, ['fr'], 'en'],
  ['xx', ['ko'], 'ko'],
  ['__proto__', [], 'en'],
])('%s in the address and %j in the browser give %s', (addressTag, browserTags, expected) => {
  expect(languageOf(addressTag, browserTags)).toBe(expected)
})
