import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { holds } from '../../test/properties.js'
import { sha256Hex } from './sha256.js'

it('is the SHA-256 of the text in UTF-8', () => {
  expect(sha256Hex('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  const text = fc.string({ unit: 'binary', maxLength: 300 })
  holds(
    fc.oneof(text, fc.constantFrom('é', '名前', '😀', '\u07ff\u0800\uffff\u{10000}\u{10ffff}')),
    (value) => {
      expect(sha256Hex(value)).toBe(createHash('sha256').update(value, 'utf8').digest('hex'))
    },
  )
})

it('has different hashes for different malformed texts', () => {
  const texts = ['\ud800', '\ud801', '\udc00', '\ufffd', '\udc00\ud800', '\ud800\udc00', '\ud800x', 'x\ud800']
  expect(new Set(texts.map(sha256Hex)).size).toBe(texts.length)
})
