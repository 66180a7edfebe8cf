import type { RequestFacts } from '../src/request.js'

/** The facts of a request with these headers. Default: `GET /` without an address. */
export function request(
  headers: Record<string, string> = {},
  rest: Partial<Omit<RequestFacts, 'header'>> = {},
): RequestFacts {
  const header = (name: string) => (Object.hasOwn(headers, name) ? headers[name] : undefined)
  return { method: 'GET', path: '/', query: '', ...rest, header }
}
