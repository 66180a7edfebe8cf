import type { RateLimitDescriptor, RateLimitRequest } from './rls-messages.js'

/** The maximum charge of a fixed window. It is above every limit. */
const MAX_HITS = 10 ** 15 - 1

/**
 * The hits of a descriptor: its own number, where 0 takes nothing, or else that of the request, where 0 means 1. Negative
 * hits give units back.
 */
export function hitsOf(
  { hitsAddend: ofRequest }: RateLimitRequest,
  { hitsAddend, isNegativeHits }: RateLimitDescriptor,
): number {
  const own = hitsAddend?.value
  const hits =
    own === undefined
      ? Math.max(1, ofRequest)
      : Math.min(MAX_HITS, typeof own === 'number' ? own : own.toNumber())
  return isNegativeHits ? -hits : hits
}
