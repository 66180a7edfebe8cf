import { show } from '@tidegate/core'
import { isHashedKey, limitsFor, type RequestFacts, type Rule } from '@tidegate/http'
import type { ActiveConfig } from '../../active-config.js'
import type { Caller } from '../../config/sections/callers.js'
import { badRequest } from '../../http/http-error.js'
import { assertCallerMay, type ParsedCheck } from './parse-check.js'

/** The rules that limit a request, and the check of each. */
export interface MatchedRules {
  readonly rules: readonly Rule[]
  readonly checks: readonly ParsedCheck[]
}

/**
 * Finds the rules that limit a request. Throws 400 for a rule that limits requests in flight, and 403 for a key or policy that
 * the caller may not use.
 */
export function matchRules(
  activeConfig: ActiveConfig,
  facts: RequestFacts,
  caller: Caller | null,
): MatchedRules {
  const limits = limitsFor(activeConfig.config.rules, facts)
  const checks = limits.map(({ rule, request: takeRequest }): ParsedCheck => {
    return { activePolicy: activeConfig.policies.get(rule.policy.name)!, takeRequest }
  })
  const rules = limits.map(({ rule }) => rule)
  const inFlight = rules.find(({ policy }) => policy.algorithm === 'concurrency')
  if (inFlight !== undefined) {
    const message = `The rule ${show(inFlight.name)} limits requests in flight, which a check cannot release; use POST /api/v1/rate-limit/acquire, or the gateway.`
    throw badRequest('request', message)
  }
  if (caller !== null) {
    checks.forEach(({ takeRequest: { key }, activePolicy }, i) => {
      assertCallerMay(caller, isHashedKey(key) ? startOf(rules[i]!) || key : key, activePolicy)
    })
  }
  return { rules, checks }
}

/** The fixed text at the start of a rule's keys. It replaces a hashed key, which has lost its prefix. */
function startOf({ key }: Rule): string {
  return /^[^{}]*/.exec(key.text)![0]
}
