import type { Policy } from '@tidegate/core'
import type { Rule, Template, Variables } from '@tidegate/http'
import type { RouteLimit } from './limit.js'
import { type Definer, definePart, type Part } from './part.js'
import type { GatewayRequest, RequestFilter, ResponseFilter, Retry, Route } from './route.js'

/** What one filter adds to a route. */
export interface Contribution {
  readonly request?: RequestFilter
  readonly response?: ResponseFilter
  readonly limits?: readonly RouteLimit[]
  /** The status of a refusal by the limits of the route. */
  readonly refusalStatus?: number
  /** Whether what a leaky bucket makes wait is held. */
  readonly queue?: boolean
  readonly answer?: NonNullable<Route['answer']>
  /** The status that the answer of the upstream gets, or that a route without one answers with. */
  readonly status?: number
  readonly preserveHost?: boolean
  readonly maxBodyBytes?: number
  readonly retry?: Retry
}

/** What a filter may know of the route it is on, and of the file. */
export interface FilterSite {
  /** The `{names}` that the predicates of the route find values for. */
  readonly names: readonly string[]
  variablesOf(request: GatewayRequest): Variables
  /** A policy of the file. Throws if there is none. */
  policyNamed(name: string): Policy
  readonly defaultPolicy: Policy
  /** A rule of the file. Throws if there is none. */
  ruleNamed(name: string): Rule
  /** How the file says who is asking. Throws if it does not say so under this name. */
  resolverNamed(name: string): Template
  hasResolver(name: string): boolean
  /** A policy that only this route has; `kind` becomes a part of its name. Throws if the numbers cannot be. */
  ownPolicy(kind: string, numbers: Readonly<Record<string, unknown>>): Policy
}

export type FilterPart = Part<FilterSite, Contribution>

export const defineFilter: Definer<FilterSite, Contribution> = definePart
