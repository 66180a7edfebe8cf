import { randomFrom } from '@tidegate/core/testing'

/** A request to a language model as it was sent and answered. */
export interface TracedRequest {
  readonly timeMs: number
  readonly inputTokens: number
  /** As the gateway would estimate them from the text. */
  readonly estimatedInput: number
  readonly outputTokens: number
  /** From the request to the end of its response. */
  readonly durationMs: number
}

/** The `max_tokens` of every request. */
export const DECLARED_MAXIMUM = 2000
export const TRACE_MINUTES = 15

/**
 * A quarter of an hour of requests, always the same: a mean of six a second in waves of five minutes, short and long
 * outputs as assistants have them, and 15 ms for each output token.
 */
export function syntheticTrace(): TracedRequest[] {
  const random = randomFrom(20_240_601).fraction
  const requests: TracedRequest[] = []
  let timeMs = Date.parse('2030-01-01T10:00:00Z')
  const endMs = timeMs + TRACE_MINUTES * 60_000
  while (timeMs < endMs) {
    const wave = 1 + 0.6 * Math.sin((timeMs / 300_000) * 2 * Math.PI)
    timeMs += Math.ceil((-Math.log(1 - random()) * 1000) / (6 * wave))
    const inputTokens = Math.ceil(skewed(random, 700, 0.9))
    const outputTokens = Math.min(Math.ceil(skewed(random, 170, 0.7)), DECLARED_MAXIMUM)
    requests.push({
      timeMs,
      inputTokens,
      estimatedInput: Math.ceil(inputTokens * (0.85 + 0.3 * random())),
      outputTokens,
      durationMs: 300 + 15 * outputTokens,
    })
  }
  return requests
}

/** A log-normal number: half of them are below the median, and a few far above it. */
function skewed(random: () => number, median: number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return median * Math.exp(sigma * normal)
}
