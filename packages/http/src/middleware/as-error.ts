import { show, TidegateError } from '@tidegate/core'

/**
 * Converts any thrown value to an error. Express and Fastify would continue past the limit after `throw undefined`, and Koa
 * would never respond.
 */
export function asError(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return value
  const message = `A function in the options threw ${show(value)}, which is not an Error. Throw an Error.`
  return new TidegateError('OPTION_INVALID', message, { cause: value })
}
