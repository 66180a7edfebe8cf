import type { RequestFacts } from '../src/request.js'

/** A request with these headers and everything else as given; `GET /` from nobody if not. */
export function request(
  headers: Record<string, string> = {},
  rest: Partial<Omit<RequestFacts, 'header'>> = {},
): RequestFacts {
  const header = (name: string) => (Object.hasOwn(headers, name) ? headers[name] : undefined)
  return { method: 'GET', path: '/', query: '', ...rest, header }
}
