import { expect, it } from 'vitest'
import { shownKey } from './shown-key.js'

it.each([
  ['user:alice', 'user:alice'],
  ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ['user:\u202Eecila', 'user:\\u202Eecila'],
  ['\u2066a\u2069\u061C', '\\u2066a\\u2069\\u061C'],
  ['사용자:👩‍👩‍👧 مستخدم', '사용자:👩‍👩‍👧 مستخدم'],
])('%j is shown as %j', (key, shown) => {
  expect(shownKey(key)).toBe(shown)
})
