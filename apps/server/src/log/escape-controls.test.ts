import { expect, it } from 'vitest'
import { escapeControls } from './escape-controls.js'

it.each([
  ['user:123', 'user:123'],
  ['名前 😀', '名前 😀'],
  ['\u001b[31mred\u0007', '\\u001b[31mred\\u0007'],
  ['a\nb\u2028c\u202ed\u009bm', 'a\\u000ab\\u2028c\\u202ed\\u009bm'],
])('escapes the control characters of %j: %s', (text, shown) => {
  expect(escapeControls(text)).toBe(shown)
})
