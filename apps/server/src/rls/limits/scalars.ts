import type { Scalar } from 'yaml'
import type { Path } from '../../config-file/config-error.js'

/*
 * The files were written for a YAML 1.1 parser, which converts a scalar to the type of its field: `value: 007` is the
 * text "007", `shadow_mode: yes` is true, and `requests_per_unit: 1_000` is a number.
 */

/** A scalar that does not fit its field. It keeps the text for the error message. */
export interface UnreadableScalar {
  readonly [UNREADABLE]: true
  readonly source: string
  readonly isQuoted: boolean
}

const UNREADABLE = Symbol('unreadable scalar')

function unreadable(source: string, isQuoted: boolean): UnreadableScalar {
  return { [UNREADABLE]: true, source, isQuoted }
}

export function isUnreadable(value: unknown): value is UnreadableScalar {
  return typeof value === 'object' && value !== null && UNREADABLE in value
}

const TEXT = new Set(['domain', 'key', 'value', 'unit', 'name', 'algorithm', 'window'])
const BOOLEAN = new Set([
  'unlimited',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'atomic',
])

const TRUE = /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/
const FALSE = /^(?:n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/
const WHOLE = /^([+-]?)(0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9]\d*)$/

/** Reads a scalar as its field needs it. */
export function readScalar(node: Scalar, path: Path): unknown {
  const { value } = node
  if (value === null || path.includes('metadata')) return typeof value === 'bigint' ? Number(value) : value
  const field = path.at(-1)
  const isQuoted = node.type !== 'PLAIN'
  const source = node.source ?? String(value)
  if (typeof field !== 'string') return value
  if (TEXT.has(field)) {
    if (typeof value === 'string') return value
    return typeof value === 'boolean' || wholeOf(source) !== undefined ? source : unreadable(source, isQuoted)
  }
  if (BOOLEAN.has(field)) {
    if (!isQuoted && TRUE.test(source)) return true
    if (!isQuoted && FALSE.test(source)) return false
    return unreadable(source, isQuoted)
  }
  if (field === 'requests_per_unit') {
    const whole = isQuoted ? undefined : wholeOf(source)
    return whole ?? unreadable(source, isQuoted)
  }
  return value
}

/** A whole number as YAML 1.1 writes it: `1_000`, `0x10`, `0b11` and `017`, which is octal. */
function wholeOf(source: string): number | undefined {
  const match = WHOLE.exec(source.replaceAll('_', ''))
  if (match === null) return undefined
  const [, sign, digits = ''] = match
  const isOctal = /^0[oO]?[0-7]/.test(digits)
  const number = isOctal ? Number.parseInt(digits.replace(/^0[oO]?/, ''), 8) : Number(digits)
  return sign === '-' ? -number : number
}
