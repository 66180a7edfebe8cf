import { listOf, optional, text, unfit } from '../argument.js'
import { defineFilter } from '../filter.js'
import { resolverName, USER_KEY_RESOLVER } from '../key-resolvers.js'

/**
 * Counts by what the file has under `policies` or `rules`, together with everybody else who does. With neither, by the
 * file's default policy.
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
    if (name !== undefined) throw unfit('is one too many: write policy or rules', 'policy')
    if (resolver !== undefined)
      throw unfit('is not used: rules have keys of their own; remove it', 'key-resolver')
    return {
      limits: rules.map((name) => {
        const rule = site.ruleNamed(name)
        return { policy: rule.policy, key: rule.key, cost: rule.cost, rule }
      }),
    }
  },
})
