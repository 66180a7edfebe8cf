import type { ResponseEnding, Usage } from '../route.js'
import type { LlmRequest } from './llm-request.js'
import type { LlmResponse } from './llm-response.js'

/** The response as far as it was sent. */
export interface SentResponse extends LlmResponse {
  readonly status: number
}

/**
 * How a reservation ends: with the actual usage, `as-reserved` because the usage is unknown, or cancelled because the model did
 * not run.
 */
export type Settlement = { readonly usage: Usage } | 'as-reserved' | 'cancel'

/** `response` is undefined if the upstream has not begun to respond. */
export function settlementOf(
  { inputTokens }: LlmRequest,
  response: SentResponse | undefined,
  ending: ResponseEnding,
): Settlement {
  if (ending === 'failed') return 'cancel'
  if (response === undefined) return { usage: { input: inputTokens, cached: 0, output: 0 } }
  const { status, hasUsage, input = inputTokens, cached = 0, output } = response
  if (status >= 400 && !hasUsage) return 'cancel'
  // The response has an unknown format: no output was found, but there may be any number of tokens.
  const isUnknown = ending === 'complete' && !hasUsage && output === 0
  return output === undefined || isUnknown ? 'as-reserved' : { usage: { input, cached, output } }
}
