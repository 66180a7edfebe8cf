import {
  assertPolicy,
  claimName,
  type Decision,
  type MaybePromise,
  type Policy,
  type Store,
  show,
  type TakeRequest,
  takeAndHold,
  unknownName,
} from '@tidegate/core'
import { type KeyOption, type KeyResolver, resolverOf } from '../keys/resolvers.js'
import type { RequestFacts } from '../request.js'
import { defineMatch, type RuleInput, ruleInvalid } from '../rules/rules.js'
import type { Checker, CheckResult, LimitDecision } from './checker.js'
import { type CostOption, parseCost } from './cost.js'
import { createMountCheck, type MountedRule } from './mounted-rules.js'
import { POLICY_FIELDS, policyCode } from './policy-fields.js'
import { type PolicyUse, policyFor } from './policy-use.js'
import { releaseOf } from './release.js'

/** One of the option `rules`: which requests it counts, by which key and policy. */
export interface RateLimitRule<Request> {
  /** A name for logs and events. Default: none. */
  name?: string
  /** The conditions for requests that the rule counts. Default: it counts every request. */
  match?: NonNullable<RuleInput['match']>
  /** The key of a request. Default: the option `key` of the middleware. */
  key?: KeyOption<Request>
  /** A policy, or a function that returns a policy for each request. Required. */
  policy: PolicyOption<Request>
  /** The cost of a request. Default: the option `cost` of the middleware. */
  cost?: CostOption<Request>
}

/** A policy, or a function that returns a policy for each request. */
export type PolicyOption<Request> = Policy | ((request: Request) => MaybePromise<Policy>)

/** Charges every matching rule, or none of them if one denies the request. */
export function checkByRules<Request>(
  store: Store,
  rules: readonly ParsedRule<Request>[],
  reportKeyUndefined: (facts: RequestFacts) => void,
  reportRuleMounted: (rule: MountedRule) => void = () => {},
): Checker<Request> {
  const checkMount = createMountCheck(rules, reportRuleMounted)

  async function takeRequestOf(
    rule: ParsedRule<Request>,
    request: Request,
    facts: RequestFacts,
  ): Promise<TakeRequest | undefined> {
    const key = await rule.key.resolve(facts, request)
    if (key === undefined) {
      reportKeyUndefined(facts)
      return undefined
    }
    const policy = await rule.policyOf(request)
    // A request holds one slot. The option `cost` of the middleware applies to rate policies only.
    const cost = policy.algorithm === 'concurrency' ? 1 : await rule.costOf(request)
    return { policy, key, cost }
  }

  async function take(entries: readonly Entry[]): Promise<CheckResult> {
    const requests = entries.map(({ request }) => request)
    if (requests.some(isConcurrency)) {
      const held = await takeAndHold(store, requests)
      const result = checkResultOf(entries, held.allowed, held.decisions, held.delayMs)
      return { ...result, release: releaseOf(held) }
    }
    if (requests.length === 1) {
      const decision = await store.check(requests[0]!)
      return checkResultOf(entries, decision.allowed, [decision], decision.delayMs)
    }
    const { allowed, decisions, delayMs } = await store.take(requests)
    return checkResultOf(entries, allowed, decisions, delayMs)
  }

  return {
    storeIdentity: store,
    policies: rules.flatMap(({ policy }) => policy ?? []),
    async check(request, facts) {
      const matching = rules.filter(({ matches }) => matches(facts))
      checkMount(facts, matching)
      // Evaluate all rules before charging any, so that an error in one rule does not charge another.
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
        limits.map(({ policy, key, decision: { timeMs, cost, degraded, leasedAtMs } }) =>
          // An `open` decision took no units, and slots are released, not refunded.
          degraded === 'open' || policy!.algorithm === 'concurrency'
            ? 0
            : store.refund({ policy: policy!, key, timeMs, cost, degraded, leasedAtMs }),
        ),
      ),
  }
}

function isConcurrency({ policy }: TakeRequest): boolean {
  return policy.algorithm === 'concurrency'
}

interface Entry {
  rule: string | undefined
  request: TakeRequest
}

function checkResultOf(
  entries: readonly Entry[],
  allowed: boolean,
  decisions: readonly (Decision | undefined)[],
  delayMs: number,
): CheckResult {
  const limits: LimitDecision[] = []
  for (const [i, { rule, request }] of entries.entries()) {
    const decision = decisions[i]
    // Undefined if the cached denial of another limit decided the take.
    if (decision !== undefined) limits.push({ rule, key: request.key, decision, policy: request.policy })
  }
  return { allowed, limits, delayMs }
}

export interface ParsedRule<Request> {
  name: string | undefined
  match: NonNullable<RuleInput['match']>
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
    throw ruleInvalid(
      undefined,
      `A rule must be an object such as { policy, key: 'ip:{ip}' }, got ${show(rule)}.`,
    )
  }
  for (const field of Object.keys(rule)) {
    if (RULE_FIELDS.includes(field)) continue
    if ((POLICY_FIELDS as readonly string[]).includes(field)) {
      throw ruleInvalid(field, `${field} belongs to the policy of a rule. Write policy: ${policyCode(rule)}.`)
    }
    throw ruleInvalid(field, `A rule has no ${unknownName(field, RULE_FIELDS)}.`)
  }
  const { name, match = {}, policy, key = defaults.key, cost = defaults.cost } = rule
  if (name !== undefined && typeof name !== 'string') {
    throw ruleInvalid('name', `name must be a string, got ${show(name)}. Write for example name: 'login'.`)
  }
  const matches = defineMatch(match)
  const common = { name, match, matches, key: resolverOf(key) }
  if (typeof policy === 'function') {
    const namedPolicies = new WeakMap<Policy, Policy>()
    const policyOf = async (request: Request): Promise<Policy> => {
      const chosenPolicy = await policy(request)
      assertPolicy(chosenPolicy)
      let namedPolicy = namedPolicies.get(chosenPolicy)
      if (namedPolicy === undefined) {
        namedPolicy = policyFor(use, chosenPolicy, store)
        namedPolicies.set(chosenPolicy, namedPolicy)
      }
      return namedPolicy
    }
    return { ...common, policy: undefined, policyOf, costOf: parseCost(cost, undefined) }
  }
  assertPolicy(policy)
  const namedPolicy = policyFor(use, policy, store)
  // Not for policies that are chosen for each request, because a client usually has only one of them.
  if (policy.isNamed) claimName(store, policy, rule)
  const isShared = rule.cost === undefined && policy.algorithm === 'concurrency'
  const costOf = parseCost(cost, isShared ? undefined : policy)
  return { ...common, policy: namedPolicy, policyOf: () => namedPolicy, costOf }
}

const RULE_FIELDS = ['name', 'match', 'key', 'policy', 'cost']
