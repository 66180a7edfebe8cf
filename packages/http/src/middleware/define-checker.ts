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

/** The limit and the key of requests: `limit` and `window`, or one of `policy`, `rules` and `limiter`. */
export interface CheckerOptions<Request> extends PolicyFields {
  /** One limit, made by `createLimiter` or by `createRemoteLimiter`. */
  limiter?: AnyLimiter
  /** One limit by a policy, or by a policy for each request: `(request) => plans[request.user.plan]`. */
  policy?: PolicyOption<Request>
  /** Several limits: a request takes from every matching rule or from none. */
  rules?: readonly RateLimitRule<Request>[]
  /** Where requests are counted. Default: `new MemoryStore()`. */
  store?: Store
  /** How to guard that store: see `createLimiter`. Default: as in `createLimiter`. */
  failure?: LimiterOptions['failure']
  /** The key of a request: a template, a function, or a resolver such as `byUser()`. Default: `byIp()`. */
  key?: KeyOption<Request>
  /** The cost of a request: a whole number from 1 up, or a function of the request. Default: 1. */
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
    // Each rule is a user of its own: two unnamed policies in one list must not share a count either.
    const ruleUse = 'place' in use ? { place: `${use.place} ${where}` } : { user: rule ?? {} }
    return inRule(where, () => parseRule(rule, { key, cost }, { use: ruleUse, store: guardedStore }))
  })
  return checkByRules(guardedStore, parsedRules, reportKeyUndefined, reportRuleMounted)
}

/** The options that define a limit, besides the numbers of a policy. */
export const LIMIT_OPTIONS = ['limiter', 'policy', 'rules'] as const

/** Whether these options define a limit, which then replaces the limit of the options that they are merged into. */
export function definesLimit(options: CheckerOptions<never>): boolean {
  return hasNumbers(options) || LIMIT_OPTIONS.some((name) => options[name] !== undefined)
}

function assertOneLimit(options: CheckerOptions<never>): void {
  const ways: string[] = LIMIT_OPTIONS.filter((name) => options[name] !== undefined)
  if (hasNumbers(options)) ways.unshift(options.algorithm ?? 'limit and window')
  if (ways.length !== 1) {
    const got = ways.length === 0 ? 'none of them' : ways.join(' and ')
    throw optionInvalid(
      ways.length === 0 ? 'limit' : ways.at(-1)!,
      `Write limit and window, for example limit: 100, window: '1m', or one of policy, rules and limiter; got ${got}.`,
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
 * The store with the guard and the leases that `createLimiter` puts around it. All limiters on one store share them. The
 * policy is never used; policies without a lease are not leased either.
 */
function guardStore(store: Store = new MemoryStore(), failure: LimiterOptions['failure']): Store {
  const lease = typeof (store as Partial<FullStore>).takeUpTo === 'function'
  const policy = fixedWindow({ limit: 1, window: '1s', name: 'tidegate-guard', lease })
  return createLimiter(failure === undefined ? { policy, store } : { policy, store, failure }).store
}

/** Adds the position of a rule to its errors. */
function inRule<T>(where: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    if (!(cause instanceof TidegateError)) throw cause
    const field = cause.field === undefined ? where : `${where}.${cause.field}`
    throw new TidegateError('RULE_INVALID', `${where}: ${cause.message}`, { field, cause })
  }
}
