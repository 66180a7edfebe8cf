import { describe, expect, it } from 'vitest'
import { gatewayRequest } from '../../../test/gateway-request.js'
import type { Predicate } from '../route.js'
import { createRouter, type RouteEntry } from './router.js'

const always: Predicate = { matches: () => true }
const never: Predicate = { matches: () => false }

function routed(route: string, order: number, ...predicates: Predicate[]): RouteEntry<string> {
  return { route, order, predicates }
}

describe('the router', () => {
  it('chooses the smallest order, and then the first route', () => {
    const routes = [routed('late', 1), routed('first', 0), routed('second', 0), routed('never', -1, never)]
    expect(createRouter(routes).find(gatewayRequest())).toBe('first')
  })

  it('chooses a route only if all its predicates match', () => {
    expect(createRouter([routed('a', 0, always, never)]).find(gatewayRequest())).toBeUndefined()
    expect(createRouter([routed('a', 0, always, always)]).find(gatewayRequest())).toBe('a')
    expect(createRouter([]).find(gatewayRequest())).toBeUndefined()
  })

  it('draws once per group and request, so that exactly one route of the group matches', () => {
    const weight = (weight: number): Predicate => ({ ...always, weight: { group: 'g', weight } })
    const routes = [routed('high', 0, weight(8)), routed('low', 0, weight(2)), routed('none', 0, weight(0))]
    let draws = 0
    let next = 0
    const router = createRouter(routes, () => {
      draws++
      return next
    })
    const found: Record<string, number> = {}
    for (let i = 0; i < 1000; i++) {
      next = i / 1000
      const route = router.find(gatewayRequest())!
      found[route] = (found[route] ?? 0) + 1
    }
    expect(found).toStrictEqual({ high: 800, low: 200 })
    expect(draws).toBe(1000)
  })

  it('draws separately for each group', () => {
    const weight = (group: string): Predicate => ({ ...always, weight: { group, weight: 1 } })
    const numbers = [0.9, 0.1]
    const routes = [
      routed('a1', 0, weight('a')),
      routed('b1', 0, weight('b')),
      routed('a2', 0, weight('a')),
      routed('b2', 0, weight('b')),
    ]
    const router = createRouter(routes, () => numbers.shift()!)
    expect(router.find(gatewayRequest())).toBe('b1')
  })
})
