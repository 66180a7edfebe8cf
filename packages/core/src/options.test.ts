import { expect, it } from 'vitest'
import { numberOption, optionInvalid } from './options.js'

const RANGE = { from: 1, to: 10_000, otherwise: 1000, isWhole: true }

it('returns the default for an option that is left out', () => {
  expect(numberOption('maxKeys', undefined, RANGE)).toBe(1000)
})

it.each([1, 500, 10_000])('accepts %d', (value) => {
  expect(numberOption('maxKeys', value, RANGE)).toBe(value)
})

it('accepts a fraction unless the number must be whole', () => {
  expect(numberOption('waitMs', 1.5, { ...RANGE, isWhole: false })).toBe(1.5)
})

it.each([0, 10_001, 1.5, Number.NaN, '5', null])('rejects %s with the range and the default', (value) => {
  expect(() => numberOption('maxKeys', value, RANGE)).toThrow(
    expect.objectContaining({
      code: 'OPTION_INVALID',
      field: 'maxKeys',
      message: expect.stringMatching(
        /^maxKeys must be a whole number from 1 to 10,000, got .+\. Leave it out for 1,000\.$/,
      ),
    }),
  )
})

it('ends the message with the advice of the option', () => {
  expect(() => numberOption('hops', -1, { ...RANGE, advice: 'Write hops: 1.' })).toThrow(/Write hops: 1\.$/)
})

it('has no field if the error concerns several options', () => {
  expect(optionInvalid(undefined, 'Write limit or policy.').field).toBeUndefined()
})
