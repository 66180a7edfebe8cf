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
import { byIp, type KeyOption, resolverOf } from './resolvers.js'

/** By what requests are counted, and as whose: one of `limiter`, `policy` and `rules`. */
export interface CountingOptions<Request> {
  /** One limit: made by `createLimiter`, or one that asks a service. */
  limiter?: AnyLimiter
  /** One limit, by this policy, or by the one for each request: `(request) => plans[request.user.plan]`. */
  policy?: PolicyOption<Request>
  /** Several limits: every rule that matches counts, all of them or none. */
  rules?: readonly RateLimitRule<Request>[]
  /** Where `policy` and `rules` count. Default: `new MemoryStore()`. */
  store?: Store
  /** What to do when that store fails: see `createLimiter`. Default: what `createLimiter` does. */
  failure?: LimiterOptions['failure']
  /** Who is asking: a template, a function, or a resolver such as `byUser()`. Default: `byIp()`. */
  key?: KeyOption<Request>
  /** What a request takes: a whole number from 1 up, or a function of the request. Default: 1. */
  cost?: CostOption<Request>
}

export function defineCounting<Request>(
  options: CountingOptions<Request>,
  keyUndefined: () => void,
): Counting<Request> {
  const { limiter, policy, rules, store, failure, key = byIp(), cost = 1 } = options
  const named = COUNTED_BY.filter((name) => options[name] !== undefined)
  if (named.length !== 1) {
    const got = named.length === 0 ? 'none of them' : named.join(' and ')
    throw invalid(
      named[1] ?? 'limiter',
      `Write one of limiter (one limit), policy (one limit, by a policy for each request) and rules (several limits), got ${got}. For example limiter: createLimiter({ policy: fixedWindow({ limit: 100, window: '1m' }) }).`,
    )
  }
  if (limiter !== undefined) {
    for (const [field, value] of Object.entries({ store, failure })) {
      if (value === undefined) continue
      throw invalid(
        field,
        `${field} is for policy and rules; a limiter has its own: write it in createLimiter().`,
      )
    }
    return countByLimiter(limiter, resolverOf(key), cost, keyUndefined)
  }
  const guarded = guard(store, failure)
  if (policy !== undefined) return countByRules(guarded, [parseRule({ policy }, { key, cost })], keyUndefined)
  if (!Array.isArray(rules) || rules.length === 0) {
    throw invalid('rules', `rules must be a list such as [{ policy, key: 'ip:{ip}' }], got ${show(rules)}.`)
  }
  const parsed = rules.map((rule, i) => inRule(`rules[${i}]`, () => parseRule(rule, { key, cost })))
  return countByRules(guarded, parsed, keyUndefined)
}

/** The options that say what counts: of two sets of options, whoever names one of them replaces all. */
export const COUNTED_BY = ['limiter', 'policy', 'rules'] as const

/**
 * A limiter puts around a store what keeps it answering, and shares it with all who use the store. Here it is
 * wanted for any policy, so the limiter's own is never used.
 */
function guard(store: Store = new MemoryStore(), failure: LimiterOptions['failure']): Store {
  const policy = fixedWindow({ limit: 1, window: 1 })
  return createLimiter(failure === undefined ? { policy, store } : { policy, store, failure }).store
}

/** Says of which rule it is what is wrong. */
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
