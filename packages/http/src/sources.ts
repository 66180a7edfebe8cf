import { pathReadings } from './path-readings.js'
import type { RequestFacts } from './request.js'

/** Something of a request that a key can be made of; undefined if the request does not have it. */
export type Source = (request: RequestFacts) => string | undefined

/**
 * What a source is called in a template: `ip`, `header.x-user-id`. Undefined for a name that means nothing.
 */
export function sourceOf(name: string): Source | undefined {
  if (Object.hasOwn(PLAIN_SOURCES, name)) return PLAIN_SOURCES[name as keyof typeof PLAIN_SOURCES]
  const dot = name.indexOf('.')
  const [kind, what] = [name.slice(0, dot), name.slice(dot + 1)]
  if (dot < 0 || what === '') return undefined
  if (kind === 'query') return (request) => queryValue(request.query, what)
  if (!TOKEN.test(what)) return undefined
  if (kind === 'cookie') return (request) => cookieValue(request.header('cookie'), what)
  if (kind !== 'header') return undefined
  const header = what.toLowerCase()
  return (request) => request.header(header)
}

/** What names of headers and cookies are made of. */
export const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/

/** HEAD runs what GET runs, and must not be a second limit for it. */
export function countedMethod(method: string): string {
  return method === 'HEAD' ? 'GET' : method
}

const PLAIN_SOURCES = {
  ip: (request) => request.ip,
  method: ({ method }) => countedMethod(method),
  // As rules match it: `/login;a=1` and `/LOGIN` must not be limits of their own.
  path: (request) => pathReadings(request).lenient.path.toLowerCase(),
  route: (request) => request.route,
} satisfies Record<string, Source>

/** The first value of a parameter that is not empty. */
function queryValue(query: string, name: string): string | undefined {
  for (let start = 0; start < query.length; ) {
    const end = endOf(query, '&', start)
    const pair = query.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals > 0 && equals < pair.length - 1 && fromForm(pair.slice(0, equals)) === name) {
      return fromForm(pair.slice(equals + 1))
    }
    start = end + 1
  }
  return undefined
}

/** The first value of a cookie that is not empty. */
function cookieValue(cookies: string | undefined, name: string): string | undefined {
  if (cookies === undefined) return undefined
  for (let start = 0; start < cookies.length; ) {
    const end = endOf(cookies, ';', start)
    const pair = cookies.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) {
      const value = pair.slice(equals + 1).trim()
      const bare = value.length > 1 && /^".*"$/.test(value) ? value.slice(1, -1) : value
      // As applications read it: `%61` and `a` must not be two clients.
      if (bare !== '') return decoded(bare)
    }
    start = end + 1
  }
  return undefined
}

function endOf(list: string, separator: string, start: number): number {
  const end = list.indexOf(separator, start)
  return end < 0 ? list.length : end
}

function fromForm(text: string): string {
  return decoded(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Escapes decoded; as it is, if they are not all right. */
function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
