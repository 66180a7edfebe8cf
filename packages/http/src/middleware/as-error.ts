import { show, TidegateError } from '@tidegate/core'

/**
 * An error for any thrown value. Express and Fastify take an undefined error as a reason to continue, past the limit, and
 * Koa never responds to one.
 */
export function asError(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return value
  const message = `A function among the options threw ${show(value)}. Throw an Error.`
  return new TidegateError('OPTION_INVALID', message, { cause: value })
}
