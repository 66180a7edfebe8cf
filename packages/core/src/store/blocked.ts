import { usToMs } from '../clock.js'
import type { Decision } from '../decision.js'

/** Converts the decision about a key to that of a key which is blocked for `leftUs` more microseconds. */
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
