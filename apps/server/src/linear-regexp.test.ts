import { describe, expect, it } from 'vitest'
import { compileRegExp, type LinearRegExp } from './linear-regexp.js'

function compiled(source: string): LinearRegExp {
  const created = compileRegExp(source)
  if ('problem' in created) throw new Error(created.problem)
  return created
}

describe('a regular expression', () => {
  it.each<[string, string[], string[]]>([
    ['\\d+', ['1', '123'], ['', 'a', '1a', 'a1']],
    ['a|b', ['a', 'b'], ['ab', 'ax', 'xb']],
    ['(?i)gold|silver', ['Gold', 'SILVER'], ['golden']],
    ['[\\w.-]{1,3}', ['a', '_.-'], ['abcd', '/']],
    ['[a\\-z\\]]+', ['a-z]'], ['b']],
    ['[]a]+', [']a'], ['b']],
    ['\\Qa.b\\E', ['a.b'], ['axb']],
    ['\\u0041\\x42\\u{43}', ['ABC'], ['abc']],
    ['\\p{Alpha}+', ['abcXYZ'], ['a1', 'é']],
    ['[\\p{Upper}\\d]+', ['A1'], ['a1']],
    ['\\P{Digit}', ['a'], ['1']],
    ['\\p{L}+', ['é'], ['1']],
    ['(?<year>\\d{4})-(?<month>\\d{2})', ['2030-01'], ['2030-1']],
    ['(a|aa)+', ['aaa'], ['ab']],
    ['\\/a\\-b\\_', ['/a-b_'], ['a-b']],
    ['^a$', ['a'], ['ba']],
  ])('%s', (source, yes, no) => {
    const { test } = compiled(source)
    for (const text of yes) expect([text, test(text)]).toStrictEqual([text, true])
    for (const text of no) expect([text, test(text)]).toStrictEqual([text, false])
  })

  it('has groups', () => {
    const date = compiled('(?<year>\\d{4})(?:-(?<month>\\d{2}))?')
    expect(date.match('2030-07')).toStrictEqual({ year: '2030', month: '07' })
    expect(date.match('2030')).toStrictEqual({ year: '2030', month: undefined })
    expect(date.match('x2030')).toBeUndefined()
    expect([date.groupCount, date.groupNames]).toStrictEqual([2, ['year', 'month']])
    expect([...compiled('a(.)').matchAll('abxac')].map(([all, one]) => [all, one])).toStrictEqual([
      ['ab', 'b'],
      ['ac', 'c'],
    ])
  })

  it.each([
    ['(a)\\1', 'reference to a group'],
    ['(?<n>a)\\k<n>', 'reference to a group'],
    ['(?=a)b', 'lookahead'],
    ['(?!a)b', 'lookahead'],
    ['(?<=a)b', 'lookbehind'],
    ['(?<!a)b', 'lookbehind'],
    ['(?>a)b', 'atomic group'],
    ['a++', 'write a+ for a++'],
    ['a{1,2000}', 'count to 1,000'],
    ['[a-z&&[^b]]', 'class within a class'],
    ['[[:alpha:]]', 'class within a class'],
    ['(', 'missing closing ): `(`'],
    ['[a', 'missing closing ]: `[a`'],
    ['\\h', 'invalid escape sequence: `\\h`'],
  ])('%s is rejected with a reason', (source, reason) => {
    expect(compileRegExp(source)).toStrictEqual({ problem: expect.stringContaining(reason) })
  })

  it.each([
    ['.*-.*-.*-\\d+', '-'],
    ['(a+)+b', 'a'],
    ['(a|aa)+', 'a'],
    ['(\\w+-?)+x', 'a-'],
  ])(
    '%s takes time linear in the text',
    (source, repeated) => {
      const { test, match } = compiled(source)
      const text = `${repeated.repeat(50_000)}!`
      expect(test(text)).toBe(false)
      expect(match(text)).toBeUndefined()
    },
    10_000,
  )
})
