/** Every code Tidegate can raise. `docs/errors.md` has a section for each; a test holds the two together. */
export const ERROR_CODES = [
  'POLICY_INVALID',
  'KEY_INVALID',
  'COST_INVALID',
  'COST_ABOVE_LIMIT',
  'TAKE_INVALID',
  'REFUND_INVALID',
  'OPTION_INVALID',
  'STORE_FAILED',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/**
 * Input that can never be right, or a store that failed. A denied request is not an error: it is a
 * `Decision` with `allowed: false`.
 */
export class TidegateError extends Error {
  override readonly name = 'TidegateError'
  readonly code: ErrorCode
  /** The option or field that is wrong, where there is one. */
  readonly field: string | undefined

  constructor(code: ErrorCode, message: string, options: { field?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.field = options.field
  }
}

/** Any value as a short piece of a message: quoted, cut, never throwing. */
export function show(value: unknown): string {
  let text: string
  try {
    text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? String(value))
  } catch {
    text = Object.prototype.toString.call(value)
  }
  if (typeof value === 'number') text = String(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}
