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
import type { RequestFacts } from './request.js'
import { type KeyOption, type KeyResolver, resolverOf } from './resolvers.js'
import { defineMatch, type RuleInput } from './rules.js'
import { when, whenAll } from './when.js'

/** Which requests, counted under which key, by which policy. */
export interface RateLimitRule<Request> {
  /** For people to know it by. Default: none. */
  name?: string
  /** What a request must have. Default: every request matches. */
  match?: NonNullable<RuleInput['match']>
  /** Who is asking. Default: the `key` beside the rules. */
  key?: KeyOption<Request>
  /** A policy, or the one for this request. Required. */
  policy: PolicyOption<Request>
  /** What a request takes. Default: the `cost` beside the rules. */
  cost?: CostOption<Request>
}

export type PolicyOption<Request> = Policy | ((request: Request) => MaybePromise<Policy>)

/** Every rule that matches counts, all of them or none. */
export function countByRules<Request>(
  store: Store,
  rules: readonly ParsedRule<Request>[],
  keyUndefined: () => void,
): Counting<Request> {
  function requestOf(
    rule: ParsedRule<Request>,
    request: Request,
    facts: RequestFacts,
  ): MaybePromise<TakeRequest | undefined> {
    return when(rule.key.resolve(facts, request), (key) => {
      if (key === undefined) return keyUndefined() as undefined
      return when(rule.policyOf(request), (policy) =>
        when(rule.costOf(request), (cost) => ({ policy, key, cost })),
      )
    })
  }

  function take(
    rules: readonly ParsedRule<Request>[],
    requests: readonly (TakeRequest | undefined)[],
  ): MaybePromise<Counted | undefined> {
    const asked = requests.filter((request) => request !== undefined)
    if (asked.length === 0) return undefined
    const names = rules.filter((_, i) => requests[i] !== undefined).map(({ name }) => name)

    const counted = (
      allowed: boolean,
      decisions: readonly (Decision | undefined)[],
      delayMs: number,
    ): Counted => {
      const limits: LimitCounted[] = []
      for (const [i, { policy, key }] of asked.entries()) {
        const decision = decisions[i]
        // A limit that was not asked: the refusal of another was remembered.
        if (decision !== undefined) limits.push({ rule: names[i], key, decision, policy })
      }
      return { allowed, limits, delayMs }
    }

    if (asked.length === 1) {
      return when(store.check(asked[0]!), (decision) =>
        counted(decision.allowed, [decision], decision.delayMs),
      )
    }
    return when(store.take(asked), ({ allowed, decisions, delayMs }) => counted(allowed, decisions, delayMs))
  }

  return {
    by: store,
    policies: rules.flatMap(({ policy }) => policy ?? []),
    count(request, facts) {
      const matching = rules.filter(({ matches }) => matches(facts))
      // All are read before any is asked: a mistake in one of them must not charge another.
      return when(
        whenAll(matching, (rule) => requestOf(rule, request, facts)),
        (requests) => take(matching, requests),
      )
    },
    refund: ({ limits }) =>
      Promise.all(
        limits.map(({ policy, key, decision: { timeMs, cost, degraded } }) =>
          // Nothing was taken by what was only let through.
          degraded === 'open' ? 0 : store.refund({ policy: policy!, key, timeMs, cost, degraded }),
        ),
      ),
  }
}

export interface ParsedRule<Request> {
  name: string | undefined
  matches: (facts: RequestFacts) => boolean
  key: KeyResolver<Request>
  /** If it is the same for every request. */
  policy: Policy | undefined
  policyOf: (request: Request) => MaybePromise<Policy>
  costOf: (request: Request) => MaybePromise<number>
}

export function parseRule<Request>(
  rule: RateLimitRule<Request>,
  otherwise: { key: KeyOption<Request>; cost: CostOption<Request> },
): ParsedRule<Request> {
  if (typeof rule !== 'object' || rule === null) {
    throw invalid(undefined, `A rule is an object such as { policy, key: 'ip:{ip}' }, got ${show(rule)}.`)
  }
  for (const field of Object.keys(rule)) {
    if (RULE_FIELDS.includes(field)) continue
    throw invalid(field, `A rule has no ${show(field)}; it takes ${RULE_FIELDS.join(', ')}.`)
  }
  const { name, match = {}, policy, key = otherwise.key, cost = otherwise.cost } = rule
  if (name !== undefined && typeof name !== 'string') {
    throw invalid('name', `name must be text, got ${show(name)}.`)
  }
  const matches = defineMatch(match)
  const common = { name, matches, key: resolverOf(key) }
  if (typeof policy === 'function') {
    return { ...common, policy: undefined, policyOf: policy, costOf: parseCost(cost, undefined) }
  }
  assertPolicy(policy)
  return { ...common, policy, policyOf: () => policy, costOf: parseCost(cost, policy) }
}

const RULE_FIELDS = ['name', 'match', 'key', 'policy', 'cost']

function invalid(field: string | undefined, message: string): TidegateError {
  return new TidegateError('RULE_INVALID', message, field === undefined ? {} : { field })
}
