import { sha256Hex } from '@tidegate/http'

/**
 * The name of a policy that a filter defines: the id of the route, the kind of limit and, from the second on, a number, as
 * in `api-route-token-bucket-2`. An id that is too long, or not valid in a policy name, is shortened and gets a part of its
 * hash, so that different ids have different names.
 */
export function policyName(routeId: string, kind: string, nth: number): string {
  const name = `${idInName(routeId)}-${kind}`
  return nth === 1 ? name : `${name}-${nth}`
}

function idInName(id: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,31}$/.test(id)) return id
  const similar = id
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[_-]+/, '')
    .slice(0, 23)
  return `${similar || 'route'}-${sha256Hex(id).slice(0, 8)}`
}

/** The default id of a route. It depends on the route only, and not on its position in the file. */
export function routeIdOf(uri: unknown, predicates: unknown): string {
  return `route-${sha256Hex(JSON.stringify([uri, predicates])).slice(0, 8)}`
}
