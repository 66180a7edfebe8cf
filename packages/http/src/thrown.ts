import { show, TidegateError } from '@tidegate/core'

/**
 * An error for any thrown value. Express and Fastify take an undefined error as a reason to continue, past the limit, and
 * Koa never responds to one.
 */
export function asError(thrown: unknown): unknown {
  if (typeof thrown === 'object' && thrown !== null) return thrown
  const message = `A function among the options threw ${show(thrown)}. Throw an Error.`
  return new TidegateError('OPTION_INVALID', message, { cause: thrown })
}
