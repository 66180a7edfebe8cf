import type { Variables } from '@tidegate/http'
import { type Definer, definePart, type Part } from './part.js'
import type { GatewayRequest } from './route.js'

/** What a predicate asks of a request. All that a route has must hold. */
export interface Predicate {
  readonly matches: (request: GatewayRequest) => boolean
  /** The `{names}` that it finds values for, for filters to use. Default: none. */
  readonly names?: readonly string[]
  /** Their values, of a request that matches. */
  readonly variablesOf?: (request: GatewayRequest) => Variables
  /** Instead of a question: the share of a group's requests. The router draws. */
  readonly weight?: Weight
}

export interface Weight {
  readonly group: string
  readonly weight: number
}

export type PredicatePart = Part<undefined, Predicate>

export const definePredicate: Definer<undefined, Predicate> = definePart
