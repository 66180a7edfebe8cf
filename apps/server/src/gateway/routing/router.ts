import type { GatewayRequest, Predicate, Weight } from '../route.js'

/** A route with the conditions for choosing it. */
export interface RouteEntry<Route> {
  readonly route: Route
  /** Routes are tried by ascending order, then by their position in the file. */
  readonly order: number
  readonly predicates: readonly Predicate[]
}

export interface Router<Route> {
  /** In matching order. */
  readonly routes: readonly Route[]
  /** The first route whose predicates all hold. */
  find(request: GatewayRequest): Route | undefined
}

type Draw = (group: string) => number
type Condition = (request: GatewayRequest, draw: Draw) => boolean

/** `random` returns numbers from 0 (inclusive) to 1 (exclusive). */
export function createRouter<Route>(
  routes: readonly RouteEntry<Route>[],
  random: () => number = Math.random,
): Router<Route> {
  const shares = sharesOf(routes)
  const compiled = routes
    .map(({ route, order, predicates }) => ({
      route,
      order,
      conditions: predicates.map(({ matches, weight }): Condition => {
        if (weight === undefined) return matches
        const { from, to } = shares.get(weight)!
        return (_, draw) => {
          const number = draw(weight.group)
          return number >= from && number < to
        }
      }),
    }))
    .sort((a, b) => a.order - b.order)

  return {
    routes: compiled.map(({ route }) => route),
    find(request) {
      let numbers: Map<string, number> | undefined
      // One draw per group and request, so that exactly one route of the group matches.
      const draw: Draw = (group) => {
        numbers ??= new Map()
        const number = numbers.get(group) ?? random()
        numbers.set(group, number)
        return number
      }
      for (const { route, conditions } of compiled) {
        if (conditions.every((holds) => holds(request, draw))) return route
      }
      return undefined
    },
  }
}

/** Assigns each weight its interval of the numbers from 0 to 1. */
function sharesOf(routes: readonly RouteEntry<unknown>[]): Map<Weight, { from: number; to: number }> {
  const groups = new Map<string, Weight[]>()
  for (const { predicates } of routes) {
    for (const { weight } of predicates) {
      if (weight === undefined) continue
      groups.set(weight.group, [...(groups.get(weight.group) ?? []), weight])
    }
  }
  const shares = new Map<Weight, { from: number; to: number }>()
  for (const weights of groups.values()) {
    const total = weights.reduce((sum, { weight }) => sum + weight, 0)
    let before = 0
    for (const weight of weights) {
      shares.set(weight, { from: before / total, to: (before + weight.weight) / total })
      before += weight.weight
    }
  }
  return shares
}
