import type { FastifyRequest } from 'fastify'

/**
 * The target as Fastify's router reads it. With `useSemicolonDelimiter` the first semicolon begins the query, so that
 * `/login;x/../y` runs the handler of `/login`.
 */
export function fastifyTarget(request: FastifyRequest): string {
  const target = request.raw.url ?? '/'
  if (!target.includes(';') || !splitsAtSemicolon(request)) return target
  return target.replace(/^([^?#;]*);/, '$1?')
}

function splitsAtSemicolon({ server }: FastifyRequest): boolean {
  const { routerOptions, useSemicolonDelimiter } = server.initialConfig as SemicolonOptions
  // Fastify 4 splits by default.
  const byDefault = server.version.startsWith('4.')
  return routerOptions?.useSemicolonDelimiter === true || (useSemicolonDelimiter ?? byDefault)
}

/** Fastify 4 has the option at the top level, Fastify 5 also in the options of the router. */
interface SemicolonOptions {
  useSemicolonDelimiter?: boolean
  routerOptions?: { useSemicolonDelimiter?: boolean }
}
