import type { HeaderNames } from '../config/rls-config.js'
import { CODE, type DescriptorStatus } from './rls-messages.js'

/**
 * The headers of the most restrictive limit: one that denies the request, or else the one with the fewest remaining hits.
 * Empty if no limit applies.
 */
export function responseHeaders(
  names: HeaderNames,
  statuses: readonly DescriptorStatus[],
  isQuota: (index: number) => boolean,
): { key: string; value: string }[] {
  let nearest: DescriptorStatus | undefined
  for (const [i, status] of statuses.entries()) {
    if (status.currentLimit === undefined) continue
    const isDenied = status.code === CODE.overLimit && !isQuota(i)
    if (isDenied || nearest === undefined || status.limitRemaining < nearest.limitRemaining) nearest = status
  }
  if (nearest === undefined) return []
  return [
    { key: names.limit, value: String(nearest.currentLimit!.requestsPerUnit) },
    { key: names.remaining, value: String(nearest.limitRemaining) },
    { key: names.reset, value: String(nearest.durationUntilReset?.seconds ?? 0) },
  ]
}
