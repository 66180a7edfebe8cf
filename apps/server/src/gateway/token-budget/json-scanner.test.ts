import { describe, expect, it } from 'vitest'
import { type JsonPath, JsonScanner } from './json-scanner.js'

/** Scans a text in pieces of one size, and lists the visits. */
function scan(
  text: string,
  pieceBytes = Number.POSITIVE_INFINITY,
  keeps: (path: JsonPath) => boolean = () => false,
) {
  const visits: string[] = []
  const keysOf = (path: JsonPath) => Array.from({ length: path.depth }, (_, i) => path.keyAt(i + 1)).join('.')
  const scanner = new JsonScanner({
    keeps,
    kept: (path, value) => visits.push(`${keysOf(path)} = ${JSON.stringify(value)}`),
    string: (path, characters) => visits.push(`${keysOf(path)} string ${characters}`),
    name: (path, characters) => visits.push(`${keysOf(path)} name ${characters}`),
    scalar: (path, characters) => visits.push(`${keysOf(path)} scalar ${characters}`),
  })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.write(bytes.subarray(at, at + pieceBytes))
  return { visits, scanner }
}

describe('JsonScanner', () => {
  it('reports names, strings and scalars with the properties that lead to them', () => {
    expect(scan('{"a": {"b": ["x", 12, {"c": "yz"}]}, "d": null}').visits).toEqual([
      'a name 1',
      'a.b name 1',
      'a.b.b string 1',
      'a.b.b scalar 2',
      'a.b.b.c name 1',
      'a.b.b.c string 2',
      'd name 1',
      'd scalar 4',
    ])
  })

  it('counts a UTF-8 character and an escape as one character each', () => {
    const text = '{"a": "한글 😀 é", "b": "\\n\\"\\\\\\u00e9/"}'
    expect(scan(text).visits.filter((visit) => visit.includes('string'))).toEqual([
      'a string 6',
      'b string 5',
    ])
  })

  it('reports the same wherever the text is split', () => {
    const text =
      '{"usage": {"x": [1, "a\\"}{\\u0041é한😀"], "y": {}}, "t": "한글 \\\\", "n": -1.5e3 , "z": true}'
    const keeps = (path: JsonPath) => path.depth === 1 && path.keyAt(1) !== 't'
    const whole = scan(text, undefined, keeps)
    expect(whole.visits).toContain('usage = {"x":[1,"a\\"}{Aé한😀"],"y":{}}')
    expect(whole.visits).toContain('n = -1500')
    for (const size of [1, 2, 3, 5, 7, 11, 16]) expect(scan(text, size, keeps).visits).toEqual(whole.visits)
  })

  it.each([
    ['{"a": 1}', true],
    [' {} \n', true],
    ['{"a": {"b": [1, 2]}}', true],
    ['', false],
    ['[]', false],
    ['"text"', false],
    ['{"a": 1', false],
    ['{"a": "b', false],
    ['{}}', false],
    ['{} {}', false],
    ['--boundary\r\ncontent', false],
  ])('reports whether %j is one complete object: %s', (text, isWhole) => {
    expect(scan(text).scanner.isWholeObject).toBe(isWhole)
  })

  it('reads text that is nested a million levels deep, and the text after it', () => {
    const deep = `{"a": ${'['.repeat(1_000_000)}"x"${']'.repeat(1_000_000)}, "b": "yy"}`
    const strings: string[] = []
    const scanner = new JsonScanner({
      keeps: () => false,
      kept: () => {},
      string: (path, characters) => strings.push(`${path.keyAt(1)} ${path.keyAt(path.depth)} ${characters}`),
    })
    scanner.write(Buffer.from(deep))
    expect(strings).toEqual(['a a 1', 'b b 2'])
    expect(scanner.isWholeObject).toBe(true)
  })

  it('drops a value of more than 64 KB, and keeps the next', () => {
    const keeps = (path: JsonPath) => path.depth === 1
    const { visits } = scan(`{"a": "${'x'.repeat(70_000)}", "b": 7}`, 1000, keeps)
    expect(visits.filter((visit) => visit.includes('='))).toEqual(['b = 7'])
  })

  it('reports a string that was cut off, and begins again after that', () => {
    const { visits, scanner } = scan('{"a": "half')
    scanner.end()
    scanner.write(Buffer.from('{"b": "whole"}'))
    expect(visits).toEqual(['a name 1', 'a string 4', 'b name 1', 'b string 5'])
  })

  it('accepts text that is not JSON without an error', () => {
    for (const text of [']]]]', '}{', '"\\', '{"a" "b" : : ,,}', '\u0000\u0001', '{"a":{]}"b"', ':,:,']) {
      const { scanner } = scan(text, 1)
      scanner.end()
      scanner.write(Buffer.from('{"a": 1}'))
      expect(scanner.isWholeObject).toBe(true)
    }
  })
})
