import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'

/** The decision about a key that is blocked for `leftUs` more microseconds, from its own decision without the block. */
export function blockedDecision(decision: Decision, leftUs: number): Decision {
  const leftMs = usToMs(leftUs)
  return {
    ...decision,
    allowed: false,
    remaining: 0,
    retryAfterMs: Math.max(decision.retryAfterMs, leftMs),
    resetAfterMs: Math.max(decision.resetAfterMs, leftMs),
    delayMs: 0,
    reason: 'blocked',
  }
}
