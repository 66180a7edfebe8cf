import type { HeldSlots } from '@tidegate/core'

/** Returns a function that releases the slots of an allowed request. It can be called repeatedly. */
export function releaseOf(
  held: HeldSlots & { readonly allowed: boolean },
): (() => Promise<void>) | undefined {
  return held.allowed ? () => held[Symbol.asyncDispose]() : undefined
}
