import { definePolicy, type Policy } from '@tidegate/core'
import type { Rule, Template } from '@tidegate/http'
import { unfit } from '../gateway/argument.js'
import type { Contribution, FilterSite } from '../gateway/filter.js'
import { FILTERS, UNSUPPORTED_FILTERS } from '../gateway/filters/all.js'
import { retryOnOthers } from '../gateway/filters/retry.js'
import type { RouteLimits } from '../gateway/limit.js'
import { policyName, routeIdOf } from '../gateway/policy-name.js'
import type { Predicate } from '../gateway/predicate.js'
import { PREDICATES, UNSUPPORTED_PREDICATES } from '../gateway/predicates/all.js'
import type { Route } from '../gateway/route.js'
import type { ConfigDocument } from './document.js'
import { healthCheckAt } from './health-check.js'
import { type Path, quoted } from './mistakes.js'
import { didYouMean } from './nearest.js'
import { type Parts, partAt } from './part.js'
import { limitsOf } from './route-limits.js'
import { timeoutsAt } from './route-timeouts.js'
import { readUpstreams } from './upstreams.js'

/** A route that does not know yet where to count. */
export interface RouteConfig extends Omit<Route, 'limit'> {
  readonly order: number
  readonly predicates: readonly Predicate[]
  readonly limits: RouteLimits
  /** Of the file. */
  readonly line: number
}

/** What routes may refer to. */
export interface InFile {
  readonly policies: ReadonlyMap<string, Policy>
  readonly rules: readonly Rule[]
  readonly defaultPolicy: Policy
  /** The service's own port. */
  readonly port: number
}

export interface RouteReader {
  /** The route at a path; undefined if there is something wrong with it. */
  routeAt(path: Path): RouteConfig | undefined
  /** Notes what is wrong with all of them together. */
  finish(): void
  /** What the filters of all routes have brought along. */
  policies(): Policy[]
}

interface Surroundings extends InFile {
  readonly resolvers: ReadonlyMap<string, Template>
  /** Where the default filters stand. */
  readonly defaultFilters: readonly Path[]
  readonly timeouts: Route['timeouts']
}

const PREDICATE_PARTS: Parts<undefined, Predicate> = {
  kind: 'predicate',
  known: PREDICATES,
  unsupported: UNSUPPORTED_PREDICATES,
}
const FILTER_PARTS: Parts<FilterSite, Contribution> = {
  kind: 'filter',
  known: FILTERS,
  unsupported: UNSUPPORTED_FILTERS,
}

export function createRouteReader(document: ConfigDocument, around: Surroundings): RouteReader {
  const ids = new Map<string, Path>()
  const own = new Map<string, Policy>()
  const weights = new Map<string, { total: number; path: Path }>()

  function routeAt(path: Path): RouteConfig | undefined {
    const entry = document.at(path)
    if (typeof entry !== 'object' || entry === null) return undefined
    const { order = 0, webSocket = false } = entry as Record<string, unknown>
    const id = idAt(path, entry as Record<string, unknown>)
    const upstreams = readUpstreams(document, [...path, 'uri'])
    const predicates = pathsIn([...path, 'predicates']).flatMap((at) => predicateAt(at) ?? [])
    const site = siteOf(path, id, predicates)
    const filters = [...around.defaultFilters, ...pathsIn([...path, 'filters'])].flatMap((at) => {
      const contribution = partAt(document, at, FILTER_PARTS, site)
      return contribution === undefined ? [] : [{ ...contribution, at }]
    })
    const timeouts = timeoutsAt(document, path, around.timeouts)
    const healthCheck = healthCheckAt(document, [...path, 'healthCheck'])
    const limits = limitsOf(document, filters)
    const answer = answerOf(filters, upstreams.isNone)
    if (upstreams.isNone && upstreams.origins.length === 0 && answer === undefined) {
      document.wrong([...path, 'uri'], 'no://op needs a filter that answers: RedirectTo or SetStatus')
    }
    if (!document.isRight(path)) return undefined
    return Object.freeze({
      id,
      order: order as number,
      line: document.lineOf(path),
      predicates,
      upstreams: upstreams.origins,
      healthCheck,
      limits,
      requestFilters: filters.flatMap(({ request }) => request ?? []),
      responseFilters: filters.flatMap(({ response }) => response ?? []),
      answer,
      preserveHost: filters.some(({ preserveHost }) => preserveHost === true),
      maxBodyBytes: lastOf(filters, 'maxBodyBytes'),
      retry: lastOf(filters, 'retry') ?? retryOnOthers(upstreams.origins.length),
      webSocket: webSocket === true || upstreams.isWebSocket,
      timeouts,
    })
  }

  function idAt(path: Path, { id, uri, predicates }: Record<string, unknown>): string {
    const at = [...path, 'id']
    if (typeof id !== 'string' || !document.isRight(at)) {
      const made = routeIdOf(uri, predicates)
      let free = made
      for (let n = 2; ids.has(free); n++) free = `${made}-${n}`
      ids.set(free, path)
      return free
    }
    if (/[\p{Cc}\p{Cs}]/u.test(id)) document.wrong(at, 'must not have control characters in it')
    if (ids.has(id)) document.wrong(at, 'another route has this id; choose another')
    ids.set(id, path)
    return id
  }

  function predicateAt(path: Path): Predicate | undefined {
    const predicate = partAt(document, path, PREDICATE_PARTS, undefined)
    if (predicate?.weight !== undefined) {
      const { group, weight } = predicate.weight
      const total = (weights.get(group)?.total ?? 0) + weight
      weights.set(group, { total, path })
    }
    return predicate
  }

  function siteOf(path: Path, id: string, predicates: readonly Predicate[]): FilterSite {
    const counts = new Map<string, number>()
    const finders = predicates.flatMap(({ variablesOf }) => variablesOf ?? [])
    return {
      names: predicates.flatMap(({ names = [] }) => names),
      variablesOf: (request) => Object.assign({}, ...finders.map((find) => find(request))),
      policyNamed: (name) => found(around.policies.get(name), 'policy', name, [...around.policies.keys()]),
      defaultPolicy: around.defaultPolicy,
      ruleNamed: (name) => {
        const names = around.rules.map((rule) => rule.name)
        return found(around.rules[names.indexOf(name)], 'rules', name, names)
      },
      resolverNamed: (name) =>
        found(around.resolvers.get(name), 'key-resolver', name, [...around.resolvers.keys()]),
      hasResolver: (name) => around.resolvers.has(name),
      ownPolicy(kind, numbers) {
        const nth = (counts.get(kind) ?? 0) + 1
        counts.set(kind, nth)
        const name = policyName(id, kind, nth)
        const policy = definePolicy({ ...numbers, name })
        if (around.policies.has(name) || own.has(name)) {
          const whose = around.policies.has(name)
            ? 'a policy of the file has'
            : 'a filter of another route has'
          document.wrong(
            [...path, 'id'],
            `its filter counts under the name ${quoted(name)}, which ${whose} too; choose another id`,
          )
        }
        own.set(name, policy)
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
          document.wrong(path, `all weights of the group ${quoted(group)} are 0; give one of them some`)
      }
    },
    policies: () => [...own.values()],
  }
}

function found<T>(thing: T | undefined, field: string, name: string, names: readonly string[]): T {
  if (thing !== undefined) return thing
  const instead =
    didYouMean(name, names) ??
    (names.length === 0 ? 'there is none' : `there is only ${names.slice(0, 20).join(', ')}`)
  throw unfit(`${quoted(name)} is not in the file; ${instead}`, field)
}

function answerOf(filters: readonly Contribution[], isNone: boolean): Route['answer'] {
  const answer = lastOf(filters, 'answer')
  if (answer !== undefined) return answer
  const status = lastOf(filters, 'status')
  return isNone && status !== undefined ? { status, headers: {} } : undefined
}

function lastOf<Name extends keyof Contribution>(
  filters: readonly Contribution[],
  name: Name,
): Contribution[Name] | undefined {
  return filters.findLast((filter) => filter[name] !== undefined)?.[name]
}
