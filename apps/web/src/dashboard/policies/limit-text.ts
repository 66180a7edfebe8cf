import { formatCount } from '../../words/format.js'
import type { Words } from '../../words/words.js'
import type { Policy } from './active-config.js'
import { parseRate } from './parse-rate.js'

/** The numbers of a policy, such as `100 / min` or `1,000 / month, Asia/Seoul`. */
export function limitText(policy: Policy, words: Words['dashboard']['policies']): string {
  const { limit, window, ttl } = policy
  if (ttl !== undefined) return words.inFlight(formatCount(limit), ttl)
  if (typeof window === 'string') return words.perUnit(limit, window, policy.timeZone ?? 'UTC')
  if (window !== undefined) {
    return policy.start === 'first-request'
      ? words.fromFirstRequest(limit, window)
      : words.perWindow(limit, window)
  }
  const rateText = (rate: number | string) => {
    const parsed = parseRate(rate)
    return parsed === undefined ? String(rate) : words.perWindow(parsed.count, parsed.periodMs)
  }
  const capacity = formatCount(limit)
  if (policy.refillRate !== undefined) return words.refill(capacity, rateText(policy.refillRate))
  return words.leak(capacity, rateText(policy.leakRate ?? 0))
}

/** What a policy does with denied requests beyond denying them; empty for most. */
export function denialTexts(
  { blockFor, countDenied }: Policy,
  words: Words['dashboard']['policies'],
): string[] {
  return [
    ...(blockFor === undefined ? [] : [words.blocksFor(blockFor)]),
    ...(countDenied === true ? [words.countsDenied] : []),
  ]
}
