import { show, TidegateError } from './errors.js'

/** Creates the error for an invalid option. `field` is undefined if the error concerns several options. */
export function optionInvalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, field === undefined ? {} : { field })
}

/** The accepted values and the default of a number option. */
export interface NumberRange {
  /** The minimum. */
  from: number
  /** The maximum. */
  to: number
  /** The value if the option is left out. */
  otherwise: number
  /** Whether the number must be whole. Default: false. */
  isWhole?: boolean
  /** The last sentence of the error message. Default: to leave the option out for the default value. */
  advice?: string
}

/** Returns a number option, or its default if it is undefined. Throws `OPTION_INVALID` for a value out of range. */
export function numberOption(field: string, value: unknown, range: NumberRange): number {
  const { from, to, otherwise, isWhole = false, advice } = range
  if (value === undefined) return otherwise
  const isValid =
    typeof value === 'number' && value >= from && value <= to && (!isWhole || Number.isInteger(value))
  if (isValid) return value
  const [least, most, usual] = [from, to, otherwise].map((number) => number.toLocaleString('en'))
  throw optionInvalid(
    field,
    `${field} must be a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}, got ${show(value)}. ${advice ?? `Leave it out for ${usual}.`}`,
  )
}
