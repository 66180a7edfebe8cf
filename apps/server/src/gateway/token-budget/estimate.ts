import type { TokenBudget } from '../route.js'
import type { LlmRequest } from './llm-request.js'

/** An output of unknown size counts for at most this part of the limit. */
const UNKNOWN_SHARE = 1 / 4

/**
 * Estimates the units to reserve for a request: the cost of its input and of its output, which is the declared maximum or the
 * usual output of the model (`p95`), whichever is less. Unless both are known, the output counts for at most a quarter of the
 * limit, so that large maxima do not take all of it, and long outputs of one key do not deny the requests of another.
 */
export function estimateCost(
  costOf: TokenBudget['costOf'],
  { inputTokens, maxOutputTokens }: LlmRequest,
  p95: number | undefined,
  limit: number,
): number {
  const costWith = (output: number) => costOf({ input: inputTokens, cached: 0, output })
  const inputCost = costWith(0)
  if (p95 !== undefined && maxOutputTokens !== undefined) {
    return atLeastOne(costWith(Math.min(p95, maxOutputTokens)))
  }
  const unknown = Math.floor(limit * UNKNOWN_SHARE)
  const outputTokens = maxOutputTokens ?? p95
  const outputCost = outputTokens === undefined ? unknown : costWith(outputTokens) - inputCost
  return atLeastOne(inputCost + Math.min(outputCost, unknown))
}

function atLeastOne(units: number): number {
  return Math.min(Math.max(units, 1), Number.MAX_SAFE_INTEGER)
}
