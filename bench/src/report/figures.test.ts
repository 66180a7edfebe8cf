import { expect, it } from 'vitest'
import { figuresOf, type Measurement, median, overRounds, ratioOf } from './figures.js'

function measured(contender: string, ...rounds: number[]): Measurement {
  return { scenario: 's', contender, figures: {}, rounds: rounds.map((bestNs) => ({ bestNs })) }
}

function which(contender: string) {
  return { scenario: 's', contender }
}

it('a ratio is the median of the ratios of each round', () => {
  // The machine was slow in the second round, and for one contender in the third.
  const all = [measured('a', 10, 30, 10), measured('b', 20, 60, 40), measured('c', 1)]
  expect(ratioOf(all, which('b'), which('a'), 'bestNs')).toBe(2)
  expect(() => ratioOf(all, which('c'), which('a'), 'bestNs')).toThrow('not measured in the same rounds')
  expect(() => ratioOf(all, which('a'), which('a'), 'medianNs')).toThrow('no figure "medianNs"')
  expect(() => ratioOf(all, which('d'), which('a'), 'bestNs')).toThrow('not measured in the same rounds')
  expect(() => figuresOf(all, which('c'), 1)).toThrow('"c" in s was not measured in round 2')
})

it('the summary of rounds has medians, but the worst pause and the most failures', () => {
  const rounds = [
    { bestNs: 1, growthMs: 1, failures: 0 },
    { bestNs: 9, growthMs: 5, failures: 3 },
    { bestNs: 2, growthMs: 2, failures: 0 },
  ]
  expect(overRounds(rounds)).toEqual({ bestNs: 2, growthMs: 5, failures: 3 })
  expect(median([4, 1])).toBe(2.5)
})
