import type { TokenBudget } from '../route.js'
import type { LlmRequest } from './llm-request.js'

/** An output of unknown size counts for at most this part of the limit. */
const UNKNOWN_SHARE = 1 / 4

/**
 * Estimates the units to reserve for a request: the cost of its input and of its output, which is the declared maximum or the
 * usual output of the model (`p95`), whichever is less. Without a `p95`, the output counts for at most a quarter of the limit,
 * so that the first requests with large maxima do not take all of it.
 */
export function estimateCost(
  costOf: TokenBudget['costOf'],
  { inputTokens, maxOutputTokens }: LlmRequest,
  p95: number | undefined,
  limit: number,
): number {
  const costWith = (output: number) => costOf({ input: inputTokens, cached: 0, output })
  const inputCost = costWith(0)
  if (p95 !== undefined) return atLeastOne(costWith(Math.min(p95, maxOutputTokens ?? p95)))
  const unknown = Math.floor(limit * UNKNOWN_SHARE)
  const outputCost = maxOutputTokens === undefined ? unknown : costWith(maxOutputTokens) - inputCost
  return atLeastOne(inputCost + Math.min(outputCost, unknown))
}

function atLeastOne(units: number): number {
  return Math.min(Math.max(units, 1), Number.MAX_SAFE_INTEGER)
}
