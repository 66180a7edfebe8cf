import type { Policy } from '@tidegate/core'
import type { Rule, Template, Variables } from '@tidegate/http'
import type {
  GatewayRequest,
  RequestFilter,
  ResponseFilter,
  Retry,
  Route,
  RouteLimit,
  TokenBudget,
} from '../route.js'
import { type Definer, definePart, type Part } from './part.js'

/** The effects of one filter on a route. */
export interface FilterEffect {
  readonly request?: RequestFilter
  readonly response?: ResponseFilter
  readonly limits?: readonly RouteLimit[]
  readonly budget?: TokenBudget
  /** The largest request body that the budget reads. */
  readonly maxBudgetBodyBytes?: number
  /** The status of a denial by the limits of the route. */
  readonly denialStatus?: number
  /** Whether requests are held until the leaky bucket releases them. */
  readonly queue?: boolean
  readonly fixedResponse?: NonNullable<Route['fixedResponse']>
  /** The status of the response, from the upstream or of a route without upstream. */
  readonly status?: number
  readonly preserveHost?: boolean
  readonly maxBodyBytes?: number
  readonly retry?: Retry
  readonly breaker?: BreakerFilter
}

/** The options of a CircuitBreaker filter. */
export interface BreakerFilter {
  /** Undefined: the id of the route. */
  readonly name: string | undefined
  readonly fallback: FallbackTarget | undefined
  /** Statuses that count as failures. */
  readonly statuses: ReadonlySet<number>
}

/** The target of requests that the upstream cannot handle. */
export interface FallbackTarget {
  /** Undefined: another route of the gateway. */
  readonly origin: string | undefined
  readonly path: string
}

/** The parts of the route and of the file that a filter may use. */
export interface FilterContext {
  /** The `{names}` that the predicates of the route extract. */
  readonly names: readonly string[]
  variablesOf(request: GatewayRequest): Variables
  /** A policy of the file. Throws if it is not defined. */
  policyNamed(name: string): Policy
  readonly defaultPolicy: Policy
  /** A rule of the file. Throws if it is not defined. */
  ruleNamed(name: string): Rule
  /** A key resolver of the file, or a built-in one. Throws if it is not defined. */
  resolverNamed(name: string): Template
  hasResolver(name: string): boolean
  /** Whether the filter is in a section of Spring. */
  readonly isSpring: boolean
  /** Warns that the filter differs from the one in Spring. */
  warn(message: string): void
  /** Defines a policy for this route only; `kind` becomes a part of its name. Throws if the numbers are invalid. */
  ownPolicy(kind: string, numbers: Readonly<Record<string, unknown>>): Policy
}

export type FilterPart = Part<FilterContext, FilterEffect>

export const defineFilter: Definer<FilterContext, FilterEffect> = definePart
