import {
  fixedWindow,
  leakyBucket,
  type Policy,
  type Rate,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'

export const LIMIT = 3

/** One of each algorithm; all with one name, or each with its own. */
export function policies({
  window = '366d' as '366d' | '300ms',
  rate = '1/1h' as Rate,
  name = '',
} = {}): Policy[] {
  const named = (own: string) => (name === '' ? own : name)
  return [
    fixedWindow({ limit: LIMIT, window, name: named('fixed') }),
    slidingWindowLog({ limit: LIMIT, window, name: named('log') }),
    slidingWindowCounter({ limit: LIMIT, window, name: named('counter') }),
    tokenBucket({ capacity: LIMIT, refillRate: rate, name: named('token') }),
    leakyBucket({ capacity: LIMIT, leakRate: rate, name: named('leaky') }),
  ]
}

/** For `it.each` and `describe.each`. */
export const EACH = policies().map((policy) => [policy.algorithm, policy] as const)
