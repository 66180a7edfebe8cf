import { show, TidegateError } from './errors.js'

/** The error for an option that is not valid. `field` is undefined if the error concerns several options. */
export function optionInvalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, field === undefined ? {} : { field })
}

export interface NumberRange {
  from: number
  to: number
  /** The value if the option is left out. */
  otherwise: number
  /** Default: false. */
  isWhole?: boolean
  /** Replaces the advice to leave the option out. */
  advice?: string
}

/** The value of a number option, or its default. Throws `OPTION_INVALID` for a value out of range. */
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
