import { formatValue } from '../../../config-file/value-kinds.js'
import { readableCodings } from '../../token-budget/accept-encoding.js'
import { type CostExpression, parseCost } from '../../token-budget/cost-expression.js'
import { bytes, invalid, required, text, withDefault } from '../argument.js'
import { defineFilter } from '../filter.js'
import { resolverName, USER_KEY_RESOLVER } from '../key-resolvers.js'

const DEFAULT_MAX_BODY = 8 * 1024 * 1024
const MAX_MAX_BODY = 64 * 1024 * 1024

/**
 * Limits the tokens of language models, or the money that tokens cost: reserves an estimate before a request is
 * forwarded, and settles it with the usage of the response.
 */
export const TokenBudget = defineFilter({
  example: '{ name: TokenBudget, args: { policy: tokens-per-minute, cost: input*3 + output*15 } }',
  args: {
    policy: required(text),
    'key-resolver': withDefault(resolverName, USER_KEY_RESOLVER),
    cost: withDefault(cost, cost('input + output')),
    unit: withDefault(unit, 'tokens'),
    'max-body': withDefault(maxBody, DEFAULT_MAX_BODY),
  },
  shortcut: ['policy', 'cost'],
  make({ policy: name, 'key-resolver': resolver, cost: { costOf }, unit, 'max-body': maxBodyBytes }, site) {
    const policy = site.policyNamed(name)
    if (policy.algorithm === 'leaky-bucket' || policy.algorithm === 'concurrency') {
      throw invalid(
        `${formatValue(name)} is a ${policy.algorithm} policy, which has no reservations; use a token-bucket or window policy`,
        'policy',
      )
    }
    return {
      budget: { policy, key: site.resolverNamed(resolver), costOf, unit },
      maxBudgetBodyBytes: maxBodyBytes,
      request({ headers }) {
        const accepted = headers.get('accept-encoding')
        if (accepted !== undefined)
          headers.set('accept-encoding', readableCodings([accepted].flat().join(',')))
      },
    }
  },
})

function cost(value: unknown): CostExpression {
  const parsed = parseCost(text(value))
  if ('problem' in parsed) throw invalid(parsed.problem)
  return parsed
}

function unit(value: unknown): string {
  const name = text(value)
  if (/^[a-z][a-z0-9-]{0,31}$/.test(name)) return name
  throw invalid(`must be 1 to 32 lower-case letters, digits and -, such as tokens, got ${formatValue(value)}`)
}

function maxBody(value: unknown): number {
  const size = bytes(value)
  if (size <= MAX_MAX_BODY) return size
  throw invalid(`must be at most 64MB, such as 8MB, got ${formatValue(value)}`)
}
