import { describe, expect, it } from 'vitest'
import { parseCost } from './cost-expression.js'

function costOf(text: string, usage: { input?: number; output?: number; cached?: number }): number {
  const cost = parseCost(text)
  if ('problem' in cost) throw new Error(cost.problem)
  return cost.costOf({ input: 0, output: 0, cached: 0, ...usage })
}

function problemIn(text: string): string {
  const cost = parseCost(text)
  if (!('problem' in cost)) throw new Error(`${text} was accepted`)
  return cost.problem
}

describe('parseCost', () => {
  it.each([
    ['input + output', 140],
    ['input*3 + output*15', 900],
    ['3*input+15*output', 900],
    ['(input + output)*2', 280],
    ['2*(input + 4*(output + 1))', 528],
    ['input*0.25 + output*1.25', 75],
    ['output', 40],
    ['input + output + 1000', 1140],
    ['  input\t+\noutput ', 140],
    ['((((((((((input))))))))))', 100],
  ])('%s of 100 input and 40 output tokens is %d', (text, units) => {
    expect(costOf(text, { input: 100, output: 40 })).toBe(units)
  })

  it('rounds the sum up to whole units, once', () => {
    expect(costOf('input*0.3 + output*0.3', { input: 1, output: 1 })).toBe(1)
    expect(costOf('input*0.3 + output*0.8', { input: 1, output: 1 })).toBe(2)
  })

  it('is exact where floating-point numbers are not', () => {
    expect(0.07 * 100).toBeGreaterThan(7)
    expect(costOf('input*0.07', { input: 100 })).toBe(7)
    expect(costOf('input*0.000000001 + output', { input: 1_000_000_000, output: 1 })).toBe(2)
  })

  it('is at most the largest safe integer', () => {
    expect(costOf('input*input*output', { input: 1e12, output: 1e12 })).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('charges each cached token once, as input unless the expression has a price for it', () => {
    expect(costOf('input*3', { input: 100, cached: 80 })).toBe(300)
    expect(costOf('input*3 + cached*0.3', { input: 100, cached: 80 })).toBe(84)
    expect(costOf('input*3 + cached*0.3', { input: 10, cached: 80 })).toBe(24)
  })

  it.each([
    ['', 'needs a number or a name at the end; write for example "input*3 + output*15"'],
    ['input*', 'needs a number or a name at the end; write for example "input*3 + output*15"'],
    [
      'input ** 2',
      'needs a number or a name before "*" at position 8; write for example "input*3 + output*15"',
    ],
    ['input output', 'needs + or * before "output" at position 7; write for example "input*3 + output*15"'],
    ['3input', 'needs + or * before "input" at position 2; write for example "input*3 + output*15"'],
    ['input)', 'needs "(" before ")" at position 6; write for example "input*3 + output*15"'],
    ['2*(input + output', 'needs a ")" for the "(" at position 3; write for example (input + output)*2'],
    [
      'input - cached',
      'has an unexpected "-" at position 7; write numbers, input, output, cached, + and *, such as "input*3 + output*15"',
    ],
    [
      'input/4',
      'has an unexpected "/" at position 6; write numbers, input, output, cached, + and *, such as "input*3 + output*15"',
    ],
    [
      'tokens*2',
      'has the unknown name "tokens"; write input, output or cached, such as "input*3 + output*15"',
    ],
    [
      'input + constructor',
      'has the unknown name "constructor"; write input, output or cached, such as "input*3 + output*15"',
    ],
    [
      'input*1234567890123',
      'has the number 1234567890123, which is too long; write at most 12 digits before the point and 9 after, such as 0.25',
    ],
    ['5', 'must depend on input or output, such as "input*3 + output*15", got "5"'],
    ['input*0', 'must depend on input or output, such as "input*3 + output*15", got "input*0"'],
  ])('rejects %j with advice', (text, problem) => {
    expect(problemIn(text)).toBe(problem)
  })

  it('rejects expressions of more than 200 characters', () => {
    expect(problemIn(`input${'+1'.repeat(98)}`)).toMatch(/^must be at most 200 characters/)
    expect(costOf(`input${'+1'.repeat(97)}`, {})).toBe(97)
    expect(problemIn('('.repeat(200))).toMatch(/^needs a number/)
  })
})
