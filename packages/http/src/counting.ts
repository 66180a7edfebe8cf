import {
  createLimiter,
  fixedWindow,
  type LimiterOptions,
  MemoryStore,
  type Store,
  show,
  TidegateError,
} from '@tidegate/core'
import type { CostOption } from './cost.js'
import { type AnyLimiter, countByLimiter } from './count-by-limiter.js'
import { countByRules, type PolicyOption, parseRule, type RateLimitRule } from './count-by-rules.js'
import type { Counting } from './counted.js'
import { hasNumbers, POLICY_FIELDS, type PolicyFields, policyOf } from './policy-fields.js'
import type { PolicyUse } from './policy-use.js'
import type { RequestFacts } from './request.js'
import { byIp, type KeyOption, resolverOf } from './resolvers.js'

/** What counts requests, and under which key: `limit` and `window`, or one of `policy`, `rules` and `limiter`. */
export interface CountingOptions<Request> extends PolicyFields {
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

export function defineCounting<Request>(
  options: CountingOptions<Request>,
  use: PolicyUse,
  keyUndefined: (facts: RequestFacts) => void,
): Counting<Request> {
  const { limiter, rules, store, failure, key = byIp(), cost = 1 } = options
  assertOneWay(options)
  if (limiter !== undefined) return countByLimiter(limiter, resolverOf(key), cost, keyUndefined)
  const guarded = guard(store, failure)
  if (rules === undefined) {
    const policy = options.policy ?? policyOf(options)
    const rule = parseRule({ policy }, { key, cost }, { use, store: guarded })
    return countByRules(guarded, [rule], keyUndefined)
  }
  if (!Array.isArray(rules) || rules.length === 0) {
    throw invalid('rules', `rules must be a list such as [{ policy, key: 'ip:{ip}' }], got ${show(rules)}.`)
  }
  const parsed = rules.map((rule, i) => {
    const where = `rules[${i}]`
    // Each rule is a user of its own: two unnamed policies in one list must not share a count either.
    const ruleUse = 'place' in use ? { place: `${use.place} ${where}` } : { user: rule ?? {} }
    return inRule(where, () => parseRule(rule, { key, cost }, { use: ruleUse, store: guarded }))
  })
  return countByRules(guarded, parsed, keyUndefined)
}

/** The options besides the numbers of a policy that name what counts. */
export const COUNTED_BY = ['limiter', 'policy', 'rules'] as const

/** Whether the options name what counts, so that they replace all of the counting of another set of options. */
export function namesCounting(options: CountingOptions<never>): boolean {
  return hasNumbers(options) || COUNTED_BY.some((name) => options[name] !== undefined)
}

function assertOneWay(options: CountingOptions<never>): void {
  const ways: string[] = COUNTED_BY.filter((name) => options[name] !== undefined)
  if (hasNumbers(options)) ways.unshift(options.algorithm ?? 'limit and window')
  if (ways.length !== 1) {
    const got = ways.length === 0 ? 'none of them' : ways.join(' and ')
    throw invalid(
      ways.length === 0 ? 'limit' : ways.at(-1)!,
      `Write limit and window, for example limit: 100, window: '1m', or one of policy, rules and limiter; got ${got}.`,
    )
  }
  const [way] = ways
  if (hasNumbers(options)) return
  for (const field of POLICY_FIELDS) {
    if (options[field] === undefined) continue
    const example = `fixedWindow({ limit: 100, window: '1m', ${field}: ${show(options[field])} })`
    throw invalid(field, `${field} belongs to the policy. Write it there: ${example}.`)
  }
  for (const field of ['store', 'failure'] as const) {
    if (way !== 'limiter' || options[field] === undefined) continue
    throw invalid(field, `${field} belongs to the limiter. Write it in createLimiter({ policy, ${field} }).`)
  }
}

/**
 * The store with the guard that `createLimiter` puts around it. All limiters on one store share the guard. The policy is
 * never used.
 */
function guard(store: Store = new MemoryStore(), failure: LimiterOptions['failure']): Store {
  const policy = fixedWindow({ limit: 1, window: 1, name: 'guard' })
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

function invalid(field: string, message: string): TidegateError {
  return new TidegateError('OPTION_INVALID', message, { field })
}
