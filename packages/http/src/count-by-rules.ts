import {
  assertPolicy,
  type Decision,
  type MaybePromise,
  type Policy,
  type Store,
  show,
  type TakeRequest,
  TidegateError,
} from '@tidegate/core'
import { type CostOption, parseCost } from './cost.js'
import type { Counted, Counting, LimitCounted } from './counted.js'
import { type PolicyUse, policyFor } from './policy-use.js'
import type { RequestFacts } from './request.js'
import { type KeyOption, type KeyResolver, resolverOf } from './resolvers.js'
import { defineMatch, type RuleInput } from './rules.js'

/** Which requests are counted, under which key, by which policy. */
export interface RateLimitRule<Request> {
  /** A name for logs and events. Default: none. */
  name?: string
  /** The requests that the rule counts. Default: every request. */
  match?: NonNullable<RuleInput['match']>
  /** The key of a request. Default: the `key` beside the rules. */
  key?: KeyOption<Request>
  /** A policy, or a function that picks one for each request. Required. */
  policy: PolicyOption<Request>
  /** The cost of a request. Default: the `cost` beside the rules. */
  cost?: CostOption<Request>
}

export type PolicyOption<Request> = Policy | ((request: Request) => MaybePromise<Policy>)

/** Counts a request by every matching rule, or by none if one of them denies it. */
export function countByRules<Request>(
  store: Store,
  rules: readonly ParsedRule<Request>[],
  keyUndefined: (facts: RequestFacts) => void,
): Counting<Request> {
  async function takeRequestOf(
    rule: ParsedRule<Request>,
    request: Request,
    facts: RequestFacts,
  ): Promise<TakeRequest | undefined> {
    const key = await rule.key.resolve(facts, request)
    if (key === undefined) {
      keyUndefined(facts)
      return undefined
    }
    return { policy: await rule.policyOf(request), key, cost: await rule.costOf(request) }
  }

  async function take(entries: readonly Entry[]): Promise<Counted> {
    const requests = entries.map(({ request }) => request)
    if (requests.length === 1) {
      const decision = await store.check(requests[0]!)
      return countedBy(entries, decision.allowed, [decision], decision.delayMs)
    }
    const { allowed, decisions, delayMs } = await store.take(requests)
    return countedBy(entries, allowed, decisions, delayMs)
  }

  return {
    by: store,
    policies: rules.flatMap(({ policy }) => policy ?? []),
    async count(request, facts) {
      const matching = rules.filter(({ matches }) => matches(facts))
      // Read everything before charging anything: an error in one rule must not charge another.
      const requests = await Promise.all(matching.map((rule) => takeRequestOf(rule, request, facts)))
      const entries: Entry[] = []
      for (const [i, { name }] of matching.entries()) {
        const request = requests[i]
        if (request !== undefined) entries.push({ rule: name, request })
      }
      return entries.length === 0 ? undefined : take(entries)
    },
    refund: ({ limits }) =>
      Promise.all(
        limits.map(({ policy, key, decision: { timeMs, cost, degraded } }) =>
          // An `open` decision took nothing.
          degraded === 'open' ? 0 : store.refund({ policy: policy!, key, timeMs, cost, degraded }),
        ),
      ),
  }
}

interface Entry {
  rule: string | undefined
  request: TakeRequest
}

function countedBy(
  entries: readonly Entry[],
  allowed: boolean,
  decisions: readonly (Decision | undefined)[],
  delayMs: number,
): Counted {
  const limits: LimitCounted[] = []
  for (const [i, { rule, request }] of entries.entries()) {
    const decision = decisions[i]
    // Undefined if the cached denial of another limit decided the take.
    if (decision !== undefined) limits.push({ rule, key: request.key, decision, policy: request.policy })
  }
  return { allowed, limits, delayMs }
}

export interface ParsedRule<Request> {
  name: string | undefined
  matches: (facts: RequestFacts) => boolean
  key: KeyResolver<Request>
  /** Undefined if it depends on the request. */
  policy: Policy | undefined
  policyOf: (request: Request) => MaybePromise<Policy>
  costOf: (request: Request) => MaybePromise<number>
}

export function parseRule<Request>(
  rule: RateLimitRule<Request>,
  defaults: { key: KeyOption<Request>; cost: CostOption<Request> },
  { use, store }: { use: PolicyUse; store: object },
): ParsedRule<Request> {
  if (typeof rule !== 'object' || rule === null) {
    throw invalid(undefined, `A rule is an object such as { policy, key: 'ip:{ip}' }, got ${show(rule)}.`)
  }
  for (const field of Object.keys(rule)) {
    if (RULE_FIELDS.includes(field)) continue
    throw invalid(field, `A rule has no ${show(field)}; it takes ${RULE_FIELDS.join(', ')}.`)
  }
  const { name, match = {}, policy, key = defaults.key, cost = defaults.cost } = rule
  if (name !== undefined && typeof name !== 'string') {
    throw invalid('name', `name must be text, got ${show(name)}.`)
  }
  const matches = defineMatch(match)
  const common = { name, matches, key: resolverOf(key) }
  if (typeof policy === 'function') {
    const named = new WeakMap<Policy, Policy>()
    const policyOf = async (request: Request): Promise<Policy> => {
      const found = await policy(request)
      assertPolicy(found)
      let own = named.get(found)
      if (own === undefined) {
        own = policyFor(use, found, store)
        named.set(found, own)
      }
      return own
    }
    return { ...common, policy: undefined, policyOf, costOf: parseCost(cost, undefined) }
  }
  assertPolicy(policy)
  const own = policyFor(use, policy, store)
  return { ...common, policy: own, policyOf: () => own, costOf: parseCost(cost, policy) }
}

const RULE_FIELDS = ['name', 'match', 'key', 'policy', 'cost']

function invalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('RULE_INVALID', message, field === undefined ? {} : { field })
}
