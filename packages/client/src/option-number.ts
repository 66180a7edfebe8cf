import { show, TidegateError } from '@tidegate/core'

/** A number among options, or its default; refused if it is none between these two. */
export function numberOption(
  field: string,
  value: unknown,
  { from, to, otherwise, isWhole = false }: NumberRule,
): number {
  if (value === undefined) return otherwise
  const isRight =
    typeof value === 'number' && value >= from && value <= to && (!isWhole || Number.isInteger(value))
  if (isRight) return value
  const [least, most, usual] = [from, to, otherwise].map((number) => number.toLocaleString('en'))
  throw new TidegateError(
    'OPTION_INVALID',
    `${field} must be a ${isWhole ? 'whole ' : ''}number from ${least} to ${most}, got ${show(value)}. Leave it out for ${usual}.`,
    { field },
  )
}

interface NumberRule {
  from: number
  to: number
  otherwise: number
  isWhole?: boolean
}

/** The longest that a timer can wait. */
export const MAX_TIMER_MS = 2 ** 31 - 1
