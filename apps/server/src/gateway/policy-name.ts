import { sha256Hex } from '@tidegate/http'

/**
 * The name of a policy that a filter brings along: the route's id, what counts, and a number from the second on, such as
 * `api-route-token-bucket-2`. Ids may be any text and names may not: one that is too long for it, or has anything but
 * a-z, 0-9, _ and - in it, is cut down to that and gets a piece of its hash, so that two ids are two names.
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

/** The id of a route that has none: the same as long as the route stays the same, wherever it stands. */
export function routeIdOf(uri: unknown, predicates: unknown): string {
  return `route-${sha256Hex(JSON.stringify([uri, predicates])).slice(0, 8)}`
}
