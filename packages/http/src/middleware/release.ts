import type { HeldSlots } from '@tidegate/core'

/** Frees the slots of an allowed request, once, however often it is called. A slot that is not freed expires. */
export function releaseOf(
  held: HeldSlots & { readonly allowed: boolean },
): (() => Promise<void>) | undefined {
  return held.allowed ? () => held[Symbol.asyncDispose]() : undefined
}
