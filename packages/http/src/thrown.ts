import { show, TidegateError } from '@tidegate/core'

/**
 * What a function of the user has thrown, as something that no framework takes for nothing: to Express and Fastify
 * an error that is undefined means to go on, past the limit, and Koa never answers one.
 */
export function asError(thrown: unknown): unknown {
  if (typeof thrown === 'object' && thrown !== null) return thrown
  const message = `A function among the options threw ${show(thrown)}. Throw an Error.`
  return new TidegateError('OPTION_INVALID', message, { cause: thrown })
}
