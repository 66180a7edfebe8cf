import {
  createLimiter,
  type FullStore,
  fixedWindow,
  type LimiterOptions,
  MemoryStore,
  optionInvalid,
  type Store,
  show,
  TidegateError,
} from '@tidegate/core'
import { byIp, type KeyOption, resolverOf } from '../keys/resolvers.js'
import type { RequestFacts } from '../request.js'
import { type AnyLimiter, checkByLimiter } from './check-by-limiter.js'
import { checkByRules, type PolicyOption, parseRule, type RateLimitRule } from './check-by-rules.js'
import type { Checker } from './checker.js'
import type { CostOption } from './cost.js'
import type { MountedRule } from './mounted-rules.js'
import { hasNumbers, POLICY_FIELDS, type PolicyFields, policyOf } from './policy-fields.js'
import type { PolicyUse } from './policy-use.js'

/** The options for the limit and the key: `limit` and `window`, or one of `policy`, `rules` and `limiter`. */
export interface CheckerOptions<Request> extends PolicyFields {
  /** A limiter, made by `createLimiter` or `createRemoteLimiter`. */
  limiter?: AnyLimiter
  /** A policy, or a function that returns one for each request: `(request) => plans[request.user.plan]`. */
  policy?: PolicyOption<Request>
  /** Several limits: a request takes from all matching rules, or from none if one denies it. */
  rules?: readonly RateLimitRule<Request>[]
  /** The store of the counts. Default: `new MemoryStore()`. */
  store?: Store
  /** How to handle failures of the store: see `LimiterOptions`. */
  failure?: LimiterOptions['failure']
  /** The key of a request: a template, a function, or a resolver such as `byUser()`. Default: `byIp()`. */
  key?: KeyOption<Request>
  /** The cost of a request: a whole number of at least 1, or a function of the request. Default: 1. */
  cost?: CostOption<Request>
}

export function defineChecker<Request>(
  options: CheckerOptions<Request>,
  use: PolicyUse,
  reportKeyUndefined: (facts: RequestFacts) => void,
  reportRuleMounted?: (rule: MountedRule) => void,
): Checker<Request> {
  const { limiter, rules, store, failure, key = byIp(), cost = 1 } = options
  assertOneLimit(options)
  if (limiter !== undefined) return checkByLimiter(limiter, resolverOf(key), cost, reportKeyUndefined)
  const guardedStore = guardStore(store, failure)
  if (rules === undefined) {
    const policy = options.policy ?? policyOf(options)
    const ownCost = options.cost === undefined ? {} : { cost: options.cost }
    const rule = parseRule({ policy, ...ownCost }, { key, cost }, { use, store: guardedStore })
    return checkByRules(guardedStore, [rule], reportKeyUndefined)
  }
  if (!Array.isArray(rules) || rules.length === 0) {
    throw optionInvalid(
      'rules',
      `rules must be a list such as [{ policy, key: 'ip:{ip}' }], got ${show(rules)}.`,
    )
  }
  const parsedRules = rules.map((rule, i) => {
    const where = `rules[${i}]`
    // Each rule is a separate user, so that two unnamed policies in one list do not share a count.
    const ruleUse = 'place' in use ? { place: `${use.place} ${where}` } : { user: rule ?? {} }
    return inRule(where, () => parseRule(rule, { key, cost }, { use: ruleUse, store: guardedStore }))
  })
  return checkByRules(guardedStore, parsedRules, reportKeyUndefined, reportRuleMounted)
}

/** The options that define a limit without numbers. */
export const LIMIT_OPTIONS = ['limiter', 'policy', 'rules'] as const

/** Whether the options define a limit, which replaces the limit of the options that they are merged with. */
export function definesLimit(options: CheckerOptions<never>): boolean {
  return hasNumbers(options) || LIMIT_OPTIONS.some((name) => options[name] !== undefined)
}

function assertOneLimit(options: CheckerOptions<never>): void {
  const ways: string[] = LIMIT_OPTIONS.filter((name) => options[name] !== undefined)
  if (hasNumbers(options)) ways.unshift(options.algorithm ?? 'limit and window')
  if (ways.length !== 1) {
    const got = ways.length === 0 ? 'none' : ways.join(' and ')
    throw optionInvalid(
      ways.length === 0 ? 'limit' : ways.at(-1)!,
      `Exactly one limit is required: limit and window, policy, rules, or limiter, got ${got}. Write for example limit: 100, window: '1m'.`,
    )
  }
  const [way] = ways
  if (hasNumbers(options)) return
  for (const field of POLICY_FIELDS) {
    if (options[field] === undefined) continue
    const example = `fixedWindow({ limit: 100, window: '1m', ${field}: ${show(options[field])} })`
    throw optionInvalid(field, `${field} belongs to the policy. Write it there: ${example}.`)
  }
  for (const field of ['store', 'failure'] as const) {
    if (way !== 'limiter' || options[field] === undefined) continue
    throw optionInvalid(
      field,
      `${field} belongs to the limiter. Write it in createLimiter({ policy, ${field} }).`,
    )
  }
}

/**
 * Wraps a store like `createLimiter` does, with a fallback and leases, which all limiters on the store share. The policy of
 * the limiter is never used. Leases apply only to policies with `lease`.
 */
function guardStore(store: Store = new MemoryStore(), failure: LimiterOptions['failure']): Store {
  const lease = typeof (store as Partial<FullStore>).takeUpTo === 'function'
  const policy = fixedWindow({ limit: 1, window: '1s', name: 'tidegate-guard', lease })
  return createLimiter(failure === undefined ? { policy, store } : { policy, store, failure }).store
}

/** Adds the position of a rule to the errors of parsing it. */
function inRule<T>(where: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    if (!(cause instanceof TidegateError)) throw cause
    const field = cause.field === undefined ? where : `${where}.${cause.field}`
    throw new TidegateError('RULE_INVALID', `${where}: ${cause.message}`, { field, cause })
  }
}
