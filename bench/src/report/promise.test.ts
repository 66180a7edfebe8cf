import { expect, it } from 'vitest'
import type { Measurement } from './figures.js'
import { type BenchPromise, exitCodeOf, outcomeOf, tableOf, verdictOf } from './promise.js'

function promise(bound: BenchPromise['bound'], target: number): BenchPromise {
  return {
    benchmark: 'core',
    scenario: 's',
    claim: 'speed of a',
    bound,
    target,
    unit: 'x',
    figure: (round) => round('s', 'a').perSecond ?? Number.NaN,
  }
}

function measured(...perSecond: number[]): Measurement[] {
  const rounds = perSecond.map((value) => ({ perSecond: value }))
  return [{ scenario: 's', contender: 'a', figures: {}, rounds }]
}

it.each<[BenchPromise['bound'], number, string, 0 | 1]>([
  ['at least', 200, 'holds', 0],
  ['at least', 230, 'holds', 0],
  ['at least', 190, 'missed by 5.0 %', 0],
  ['at least', 180, 'missed by 10.0 %', 0],
  ['at least', 178, 'missed by 11.0 %', 1],
  ['at most', 200, 'holds', 0],
  ['at most', 170, 'holds', 0],
  ['at most', 210, 'missed by 5.0 %', 0],
  ['at most', 220, 'missed by 10.0 %', 0],
  ['at most', 222, 'missed by 11.0 %', 1],
  ['at most', Number.NaN, 'missed', 1],
])('%s 200, median %d: %s, exit code %d', (bound, value, result, exitCode) => {
  const outcome = outcomeOf(promise(bound, 200), measured(value))
  expect(tableOf([outcome]).rows[0]?.at(-1)).toBe(result)
  expect(exitCodeOf([outcome])).toBe(exitCode)
})

it('exits with 1 if one promise of many is missed by more than 10 %', () => {
  const outcomes = [200, 190, 100].map((value) => outcomeOf(promise('at least', 200), measured(value)))
  expect(exitCodeOf(outcomes)).toBe(1)
  expect(exitCodeOf(outcomes.slice(0, 2))).toBe(0)
  expect(verdictOf(outcomes)).toBe('2 of 3 promises missed, 1 of them by more than 10 %.')
  expect(verdictOf(outcomes.slice(0, 1))).toBe('Every promise holds.')
})

it('fails on anything above a target of 0', () => {
  expect(exitCodeOf([outcomeOf(promise('at most', 0), measured(1))])).toBe(1)
  expect(exitCodeOf([outcomeOf(promise('at most', 0), measured(0))])).toBe(0)
})

it('takes the median of the runs and shows each of them', () => {
  const outcome = outcomeOf(promise('at least', 2), measured(1, 3, 2.5))
  expect(outcome.median).toBe(2.5)
  expect(tableOf([outcome]).rows).toEqual([
    ['core s: speed of a', '1.00, 3.00, 2.50', '2.50', 'at least 2 x', 'holds'],
  ])
})

it('compares two contenders within each run', () => {
  const ratio: BenchPromise = {
    ...promise('at least', 2),
    figure: (round) => round('s', 'a').perSecond! / round('s', 'b').perSecond!,
  }
  // The second run was slow for both contenders.
  const all = [...measured(20, 5, 30), { ...measured(10, 2, 10)[0]!, contender: 'b' }]
  expect(outcomeOf(ratio, all).rounds).toEqual([2, 2.5, 3])
})

it('lists a promise that was not measured', () => {
  expect(tableOf([promise('at least', 2)]).rows).toEqual([
    ['core s: speed of a', '-', '-', 'at least 2 x', 'not measured'],
  ])
  expect(() => outcomeOf(promise('at least', 2), [])).toThrow('has no scenario "s"')
})
