import { nearestWords } from './nearest-words.js'

/** All codes of errors and warnings. `docs/errors.md` has a section for each code. */
export const ERROR_CODES = [
  'POLICY_INVALID',
  'POLICY_UNNAMED',
  'POLICY_SUSPICIOUS',
  'KEY_INVALID',
  'COST_INVALID',
  'COST_ABOVE_LIMIT',
  'TAKE_INVALID',
  'REFUND_INVALID',
  'CHARGE_INVALID',
  'BLOCK_INVALID',
  'RESERVATION_INVALID',
  'RESERVATION_ID_USED',
  'RESERVATION_UNSETTLED',
  'WAIT_TIMEOUT',
  'WAIT_QUEUE_FULL',
  'WAIT_ABORTED',
  'SLOT_INVALID',
  'SLOT_LOST',
  'OPERATION_UNSUPPORTED',
  'OPTION_INVALID',
  'TEMPLATE_INVALID',
  'RULE_INVALID',
  'RULE_UNREACHABLE',
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
  'STORE_UNSTABLE',
  'OVERLOADED',
  'PROCESS_STARVED',
] as const

/** The code of an error or warning, such as `'POLICY_INVALID'`. */
export type ErrorCode = (typeof ERROR_CODES)[number]

const ERROR_MARK = Symbol.for('@tidegate/core: TidegateError')

/**
 * The error for invalid input and for store failures. A denied request is not an error: it is a `Decision` with
 * `allowed: false`.
 *
 * @example
 * ```ts
 * try {
 *   await limiter.check(key)
 * } catch (error) {
 *   if (error instanceof TidegateError && error.code === 'KEY_INVALID') respondWith400()
 *   else throw error
 * }
 * ```
 */
export class TidegateError extends Error {
  /** Makes `instanceof` work for errors of another copy of this package too, such as its CommonJS build. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit this method.
    if (this !== TidegateError) return Function.prototype[Symbol.hasInstance].call(this, value)
    return typeof value === 'object' && value !== null && ERROR_MARK in value
  }

  override readonly name = 'TidegateError'
  /** The code, for programs. The message is for people and can change. */
  readonly code: ErrorCode
  /** The invalid option or field, if the error concerns a single one. */
  readonly field: string | undefined

  constructor(code: ErrorCode, message: string, options: { field?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.field = options.field
  }
}

Object.defineProperty(TidegateError.prototype, ERROR_MARK, { value: true })

/** The path of the documentation of an error code, which this package contains. */
export function errorDocs(code: ErrorCode): string {
  return `node_modules/@tidegate/core/docs/errors.md#${code.toLowerCase()}`
}

/** Formats any value for an error message: quoted, and shortened to 60 characters. Never throws. */
export function show(value: unknown): string {
  let text: string
  try {
    text = typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value, showFunction) ?? String(value))
    text = text.replace(/"(\[(?:function|class)[\w$ ]*\])"/g, '$1')
  } catch {
    // Do not call methods of the value again: they may throw again.
    text = `[${typeof value}]`
  }
  if (typeof value === 'number') text = String(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

/** JSON leaves functions out of objects, and turns them into null in lists. */
function showFunction(_: string, value: unknown): unknown {
  if (typeof value !== 'function') return value
  const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'function'
  const { name } = value
  return typeof name === 'string' && /^[\w$]+$/.test(name) ? `[${kind} ${name}]` : `[${kind}]`
}

/** Like `show`, but lists only the property names of an object, because its values may be secrets. */
export function showKeys(value: unknown): string {
  if (typeof value !== 'object' || value === null) return show(value)
  const names = Object.keys(value)
  const list = names.slice(0, MAX_KEYS).join(', ')
  if (names.length === 0) return 'an object without properties'
  return `an object with ${list}${names.length > MAX_KEYS ? ', …' : ''}`
}

const MAX_KEYS = 10

/** Hides the user and the password of a URL, however they are written. */
export function redactUrl(url: string): string {
  return url.replace(/^([a-z+]*:)?(\/\/)?.*@/is, '$1$2…@')
}

/**
 * Throws `OPTION_INVALID` if `options` is not an object or has a field that is not in `optionNames`. `caller` is the name
 * of the function in the message, such as `'createLimiter()'`.
 */
export function assertOptions(caller: string, options: unknown, optionNames: readonly string[]): void {
  const list = optionNames.join(', ')
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const message = `${caller} takes an object with the options ${list}, got ${show(options)}.`
    throw new TidegateError('OPTION_INVALID', message)
  }
  for (const field of Object.keys(options)) {
    if (optionNames.includes(field)) continue
    throw new TidegateError('OPTION_INVALID', `${caller} has no option ${unknownName(field, optionNames)}.`, {
      field,
    })
  }
}

/** The end of a message about an unknown name: the name, those that are most similar, and all names. */
export function unknownName(name: string, names: readonly string[], list = names.join(', ')): string {
  const near = nearestWords(name, names).map(show)
  return near.length === 0
    ? `${show(name)}; it takes ${list}`
    : `${show(name)}; did you mean ${near.join(' or ')}? It takes ${list}`
}
