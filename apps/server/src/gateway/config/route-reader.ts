import { definePolicy, type Policy } from '@tidegate/core'
import type { Rule, Template } from '@tidegate/http'
import { type Path, quote } from '../../config-file/config-error.js'
import type { ConfigDocument } from '../../config-file/document.js'
import { withUnits } from '../../config-file/duration-units.js'
import { choiceOf, didYouMean } from '../../config-file/suggestions.js'
import type { Predicate, Route, RouteLimits, TokenBudgets } from '../route.js'
import { invalid } from '../spring/argument.js'
import type { FilterContext, FilterEffect } from '../spring/filter.js'
import { FILTERS, FILTERS_WITHOUT_EFFECT, UNSUPPORTED_FILTERS } from '../spring/filters/index.js'
import { defaultRetry } from '../spring/filters/retry.js'
import { PREDICATES, UNSUPPORTED_PREDICATES } from '../spring/predicates/index.js'
import { healthCheckAt } from './health-check.js'
import { type PartCatalog, readPart } from './part-reader.js'
import { policyName, routeIdOf } from './policy-name.js'
import { routeBreaker, withBreakerTimeout } from './route-breaker.js'
import { budgetsOf } from './route-budgets.js'
import { limitsOf } from './route-limits.js'
import { timeoutsAt } from './route-timeouts.js'
import { readUpstreamUris } from './upstream-uris.js'

/** A route without the parts that depend on the store. */
export interface RouteConfig extends Omit<Route, 'limiter' | 'budget'> {
  readonly order: number
  readonly predicates: readonly Predicate[]
  readonly limits: RouteLimits
  readonly budgets: TokenBudgets
  /** Its line in the file. */
  readonly line: number
  /** Its path in the file. */
  readonly at: Path
}

/** Definitions that routes may refer to. */
export interface RouteReferences {
  readonly policies: ReadonlyMap<string, Policy>
  readonly rules: readonly Rule[]
  readonly defaultPolicy: Policy
  /** The service's own port. */
  readonly port: number
}

export interface RouteReader {
  /** The route at a path; undefined if it has errors. */
  routeAt(path: Path): RouteConfig | undefined
  /** Reports errors that concern several routes. */
  finish(): void
  /** The policies that filters of all routes define. */
  policies(): Policy[]
}

interface RouteReaderOptions extends RouteReferences {
  readonly resolvers: ReadonlyMap<string, Template>
  /** The paths of the default filters. */
  readonly defaultFilters: readonly Path[]
  readonly timeouts: Route['timeouts']
  /** Names of filters to leave out. */
  readonly ignoredFilters: ReadonlySet<string>
}

const PREDICATE_PARTS: PartCatalog<undefined, Predicate> = {
  kind: 'predicate',
  parts: PREDICATES,
  unsupported: UNSUPPORTED_PREDICATES,
}

export function createRouteReader(document: ConfigDocument, options: RouteReaderOptions): RouteReader {
  const ids = new Map<string, Path>()
  const policiesOfFilters = new Map<string, Policy>()
  const weights = new Map<string, { total: number; path: Path }>()
  const filterParts: PartCatalog<FilterContext, FilterEffect> = {
    kind: 'filter',
    parts: FILTERS,
    unsupported: UNSUPPORTED_FILTERS,
    withoutEffect: FILTERS_WITHOUT_EFFECT,
    ignored: options.ignoredFilters,
  }

  function routeAt(path: Path): RouteConfig | undefined {
    const entry = document.at(path)
    if (typeof entry !== 'object' || entry === null) return undefined
    const { order = 0, webSocket = false } = entry as Record<string, unknown>
    const id = idAt(path, entry as Record<string, unknown>)
    const upstreams = readUpstreamUris(document, [...path, 'uri'])
    const predicatePaths = pathsIn([...path, 'predicates'])
    // Spring rejects such a route too. A document that overrides a part of a route has this effect.
    if (path[0] === 'spring' && predicatePaths.length === 0) {
      const advice = 'write for example [Path=/**]; a document that changes a route must repeat all routes'
      document.addError([...path, 'predicates'], `is missing; ${advice}`)
    }
    const predicates = predicatePaths.flatMap((at) => predicateAt(at) ?? [])
    const site = siteOf(path, id, predicates)
    const filters = [...options.defaultFilters, ...pathsIn([...path, 'filters'])].flatMap((at) => {
      const warnOf = (field: string, message: string) => document.addWarning([...at, 'args', field], message)
      const contribution = readPart(document, at, filterParts, {
        ...site,
        isSpring: at[0] === 'spring',
        warn: (message) => document.addWarning(at, message),
        ownPolicy: (kind, numbers) => site.ownPolicy(kind, withUnits(numbers, warnOf)),
      })
      return contribution === undefined ? [] : [{ ...contribution, at }]
    })
    const breaker = lastOf(filters, 'breaker')
    const timeouts = withBreakerTimeout(document, id, breaker, timeoutsAt(document, path, options.timeouts))
    const healthCheck = healthCheckAt(document, [...path, 'healthCheck'])
    const limits = limitsOf(document, filters)
    const isWebSocket = webSocket === true || upstreams.isWebSocket
    const budgets = budgetsOf(document, filters, limits, isWebSocket)
    const fixedResponse = fixedResponseOf(filters, upstreams.isNone)
    if (upstreams.isNone && upstreams.origins.length === 0 && fixedResponse === undefined) {
      document.addError([...path, 'uri'], 'no://op needs a filter that responds: RedirectTo or SetStatus')
    }
    if (!document.isValid(path)) return undefined
    return Object.freeze({
      id,
      order: order as number,
      line: document.lineOf(path),
      at: path,
      predicates,
      upstreams: upstreams.origins,
      healthCheck,
      limits,
      budgets,
      requestFilters: filters.flatMap(({ request }) => request ?? []),
      responseFilters: filters.flatMap(({ response }) => response ?? []),
      fixedResponse,
      preserveHost: filters.some(({ preserveHost }) => preserveHost === true),
      maxBodyBytes: lastOf(filters, 'maxBodyBytes'),
      retry: lastOf(filters, 'retry') ?? defaultRetry(upstreams.origins.length),
      webSocket: isWebSocket,
      timeouts,
      breaker: routeBreaker(document, id, breaker, timeouts),
    })
  }

  function idAt(path: Path, { id, uri, predicates }: Record<string, unknown>): string {
    const at = [...path, 'id']
    if (typeof id !== 'string' || !document.isValid(at)) {
      const generated = routeIdOf(uri, predicates)
      let unique = generated
      for (let n = 2; ids.has(unique); n++) unique = `${generated}-${n}`
      ids.set(unique, path)
      return unique
    }
    if (/[\p{Cc}\p{Cs}]/u.test(id))
      document.addError(at, `must not contain control characters, got ${quote(id)}`)
    if (ids.has(id)) document.addError(at, `another route has the id ${quote(id)}; choose another id`)
    ids.set(id, path)
    return id
  }

  function predicateAt(path: Path): Predicate | undefined {
    const predicate = readPart(document, path, PREDICATE_PARTS, undefined)
    if (predicate?.weight !== undefined) {
      const { group, weight } = predicate.weight
      const total = (weights.get(group)?.total ?? 0) + weight
      weights.set(group, { total, path })
    }
    return predicate
  }

  function siteOf(
    path: Path,
    id: string,
    predicates: readonly Predicate[],
  ): Omit<FilterContext, 'isSpring' | 'warn'> {
    const counts = new Map<string, number>()
    const finders = predicates.flatMap(({ variablesOf }) => variablesOf ?? [])
    return {
      names: predicates.flatMap(({ names = [] }) => names),
      variablesOf: (request) => Object.assign({}, ...finders.map((find) => find(request))),
      policyNamed: (name) =>
        assertFound(options.policies.get(name), 'policy', name, [...options.policies.keys()]),
      defaultPolicy: options.defaultPolicy,
      ruleNamed: (name) => {
        const names = options.rules.map((rule) => rule.name)
        return assertFound(options.rules[names.indexOf(name)], 'rules', name, names)
      },
      resolverNamed: (name) =>
        assertFound(options.resolvers.get(name), 'key-resolver', name, [...options.resolvers.keys()]),
      hasResolver: (name) => options.resolvers.has(name),
      ownPolicy(kind, numbers) {
        const index = (counts.get(kind) ?? 0) + 1
        counts.set(kind, index)
        const name = policyName(id, kind, index)
        const policy = definePolicy({ ...numbers, name })
        if (options.policies.has(name) || policiesOfFilters.has(name)) {
          const other = options.policies.has(name) ? 'the file' : 'a filter of another route'
          document.addError(
            [...path, 'id'],
            `a filter of this route defines the policy ${quote(name)}, and so does ${other}; choose another id`,
          )
        }
        policiesOfFilters.set(name, policy)
        return policy
      },
    }
  }

  function pathsIn(path: Path): Path[] {
    const list = document.at(path)
    return Array.isArray(list) ? list.map((_, i) => [...path, i]) : []
  }

  return {
    routeAt,
    finish() {
      for (const [group, { total, path }] of weights) {
        if (total === 0)
          document.addError(path, `all weights of the group ${quote(group)} are 0; write one above 0`)
      }
    },
    policies: () => [...policiesOfFilters.values()],
  }
}

function assertFound<T>(value: T | undefined, field: string, name: string, names: readonly string[]): T {
  if (value !== undefined) return value
  const advice =
    didYouMean(name, names) ??
    (names.length === 0 ? 'define it first' : `define it, or ${choiceOf(names.slice(0, 20))}`)
  throw invalid(`${quote(name)} is not defined in the file; ${advice}`, field)
}

function fixedResponseOf(filters: readonly FilterEffect[], isNone: boolean): Route['fixedResponse'] {
  const fixedResponse = lastOf(filters, 'fixedResponse')
  if (fixedResponse !== undefined) return fixedResponse
  const status = lastOf(filters, 'status')
  return isNone && status !== undefined ? { status, headers: {} } : undefined
}

function lastOf<Name extends keyof FilterEffect>(
  filters: readonly FilterEffect[],
  name: Name,
): FilterEffect[Name] | undefined {
  return filters.findLast((filter) => filter[name] !== undefined)?.[name]
}
