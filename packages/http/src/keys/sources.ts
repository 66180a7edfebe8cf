import { pathReadings } from '../path/path-readings.js'
import type { RequestFacts } from '../request.js'

/** The result for a source with several different values, because servers disagree about which one counts. */
export const AMBIGUOUS = Symbol('ambiguous')

/** Reads a part of a key from a request; undefined if the request does not have it. */
export type Source = (request: RequestFacts) => string | typeof AMBIGUOUS | undefined

/** Finds a source by its name, such as `ip` or `header.x-user-id`. Returns undefined for unknown names. */
export function sourceOf(name: string): Source | undefined {
  if (Object.hasOwn(SIMPLE_SOURCES, name)) return SIMPLE_SOURCES[name as keyof typeof SIMPLE_SOURCES]
  const dot = name.indexOf('.')
  const [kind, what] = [name.slice(0, dot), name.slice(dot + 1)]
  if (dot < 0 || what === '') return undefined
  if (kind === 'query') return (request) => queryValue(request.query, what)
  if (!TOKEN.test(what)) return undefined
  if (kind === 'cookie') return (request) => cookieValue(request.header('cookie'), what)
  if (kind !== 'header') return undefined
  const header = what.toLowerCase()
  return (request) => headerValue(request, header)
}

/** Names of headers and cookies. */
export const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/** HEAD runs the same handler as GET, so both count under one limit. */
export function handlerMethod(method: string): string {
  return method === 'HEAD' ? 'GET' : method
}

const SIMPLE_SOURCES = {
  ip: (request) => request.ip,
  method: ({ method }) => handlerMethod(method),
  // The path that rules match, so that `/login;a=1` and `/LOGIN` share one limit.
  path: (request) => pathReadings(request).lenient.path.toLowerCase(),
  route: (request) => request.route,
} satisfies Record<string, Source>

function headerValue(request: RequestFacts, name: string): string | typeof AMBIGUOUS | undefined {
  const value = request.header(name)
  const lines = request.headerLines?.(name)
  if (lines === undefined || lines.length === 0) return value
  const isAmbiguous = value === undefined || lines.some((line) => line !== lines[0])
  return isAmbiguous ? AMBIGUOUS : value
}

/** The value of a parameter. Empty values do not count. */
function queryValue(query: string, name: string): string | typeof AMBIGUOUS | undefined {
  let found: string | undefined
  for (let start = 0; start < query.length; ) {
    const end = endOf(query, '&', start)
    const pair = query.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals > 0 && equals < pair.length - 1 && fromForm(pair.slice(0, equals)) === name) {
      const value = fromForm(pair.slice(equals + 1))
      if (found !== undefined && found !== value) return AMBIGUOUS
      found = value
    }
    start = end + 1
  }
  return found
}

/** The value of a cookie. Empty values do not count. */
function cookieValue(cookies: string | undefined, name: string): string | typeof AMBIGUOUS | undefined {
  if (cookies === undefined) return undefined
  let found: string | undefined
  for (let start = 0; start < cookies.length; ) {
    const end = endOf(cookies, ';', start)
    const pair = cookies.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) {
      const raw = pair.slice(equals + 1).trim()
      // Decoded like in applications, so that `%61` and `a` are one client.
      const value = decoded(raw.length > 1 && /^".*"$/.test(raw) ? raw.slice(1, -1) : raw)
      if (value !== '' && found !== undefined && found !== value) return AMBIGUOUS
      if (value !== '') found = value
    }
    start = end + 1
  }
  return found
}

function endOf(list: string, separator: string, start: number): number {
  const end = list.indexOf(separator, start)
  return end < 0 ? list.length : end
}

function fromForm(text: string): string {
  return decoded(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Decodes escapes; returns the text unchanged if an escape is broken. */
function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
