import type { ResponseEnding, Usage } from '../route.js'
import type { LlmRequest } from './llm-request.js'
import type { LlmResponse } from './llm-response.js'

/** The response as far as it was sent. */
export interface SentResponse extends LlmResponse {
  readonly status: number
}

/**
 * How a reservation ends: with the actual usage; `as-reserved` because the usage is unknown; `at-maximum`, the declared one,
 * because the output is fetched later by requests that are not counted; or cancelled because the model did not run.
 */
export type Settlement = { readonly usage: Usage } | 'as-reserved' | 'at-maximum' | 'cancel'

/**
 * `response` is undefined if the upstream has not begun to respond. A model without streaming responds at its end: if the
 * client hangs up before, it may have run, and its output is unknown.
 */
export function settlementOf(
  { inputTokens }: LlmRequest,
  response: SentResponse | undefined,
  ending: ResponseEnding,
): Settlement {
  if (ending === 'failed') return 'cancel'
  if (response === undefined) return 'as-reserved'
  const { status, hasUsage, input = inputTokens, cached = 0, output } = response
  if (status >= 400 && !hasUsage) return 'cancel'
  if (response.isBackground && !hasUsage) return 'at-maximum'
  // The response has an unknown format: no output was found, but there may be any number of tokens.
  const isUnknown = ending === 'complete' && !hasUsage && output === 0
  return output === undefined || isUnknown ? 'as-reserved' : { usage: { input, cached, output } }
}
