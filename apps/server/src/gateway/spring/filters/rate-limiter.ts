import { invalid, listOf, optional, text } from '../argument.js'
import { defineFilter } from '../filter.js'
import { resolverName, USER_KEY_RESOLVER } from '../key-resolvers.js'

/**
 * Counts by a policy or rules of the file, which other routes and the API may share. Without either, by the default
 * policy of the file.
 */
export const RateLimiter = defineFilter({
  example: 'RateLimiter=per-user',
  args: {
    policy: optional(text),
    rules: optional(listOf(text)),
    'key-resolver': optional(resolverName),
  },
  shortcut: ['policy'],
  make({ policy: name, rules, 'key-resolver': resolver }, site) {
    if (rules === undefined) {
      const policy = name === undefined ? site.defaultPolicy : site.policyNamed(name)
      const key = site.resolverNamed(resolver ?? USER_KEY_RESOLVER)
      return { limits: [{ policy, key, cost: 1 }] }
    }
    if (name !== undefined)
      throw invalid('must not be used together with rules; write one of the two', 'policy')
    if (resolver !== undefined)
      throw invalid(
        'must not be used together with rules, which have their own keys; remove it',
        'key-resolver',
      )
    return {
      limits: rules.map((name) => {
        const rule = site.ruleNamed(name)
        return { policy: rule.policy, key: rule.key, cost: rule.cost, rule }
      }),
    }
  },
})
