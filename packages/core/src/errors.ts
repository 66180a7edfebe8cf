/** Every code Tidegate can raise or warn with. `docs/errors.md` has a section for each; a test holds the two together. */
export const ERROR_CODES = [
  'POLICY_INVALID',
  'POLICY_UNNAMED',
  'KEY_INVALID',
  'COST_INVALID',
  'COST_ABOVE_LIMIT',
  'TAKE_INVALID',
  'REFUND_INVALID',
  'OPTION_INVALID',
  'TEMPLATE_INVALID',
  'RULE_INVALID',
  'RATE_LIMIT_EXCEEDED',
  'KEY_UNDEFINED',
  'ADDRESS_UNKNOWN',
  'PROXY_UNTRUSTED',
  'COUNTED_TWICE',
  'LIMITER_IN_HANDLER',
  'LISTENER_FAILED',
  'ACCESS_DENIED',
  'STORE_FAILED',
  'STORE_UNAVAILABLE',
  'STORE_RECOVERED',
  'OVERLOADED',
  'PROCESS_STARVED',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

const ERROR_MARK = Symbol.for('@tidegate/core: TidegateError')

/**
 * Input that can never be right, or a store that failed. A denied request is not an error: it is a
 * `Decision` with `allowed: false`.
 */
export class TidegateError extends Error {
  /** Makes `instanceof` true for errors of another copy of this package too, such as its CommonJS build. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this method.
    if (this !== TidegateError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && ERROR_MARK in value
  }

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

Object.defineProperty(TidegateError.prototype, ERROR_MARK, { value: true })

/** Where the page about an error code is on the user's disk: this package contains it. */
export function errorDocs(code: ErrorCode): string {
  return `node_modules/@tidegate/core/docs/errors.md#${code.toLowerCase()}`
}

/** Any value as a short piece of a message: quoted, cut, never throwing. */
export function show(value: unknown): string {
  let text: string
  try {
    text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? String(value))
  } catch {
    // Nothing of its own is asked any more: whatever threw may throw again.
    text = `[${typeof value}]`
  }
  if (typeof value === 'number') text = String(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

/** Refuses options that are no object or have a name that means nothing: a typo must not be a silent default. */
export function assertOptions(of: string, options: unknown, known: readonly string[]): void {
  const list = known.join(', ')
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TidegateError('OPTION_INVALID', `${of} takes an object of ${list}, got ${show(options)}.`)
  }
  for (const field of Object.keys(options)) {
    if (known.includes(field)) continue
    throw new TidegateError('OPTION_INVALID', `${of} has no option ${show(field)}; it takes ${list}.`, {
      field,
    })
  }
}
