import type { Policy } from '@tidegate/core'

const NAMES: Readonly<Record<string, Policy['algorithm']>> = {
  TOKEN_BUCKET: 'token-bucket',
  LEAKY_BUCKET: 'leaky-bucket',
  SLIDING_WINDOW: 'sliding-window-log',
  SLIDING_WINDOW_COUNTER: 'sliding-window-counter',
  FIXED_WINDOW: 'fixed-window',
  CONCURRENCY: 'concurrency',
}

/** Converts the label of an algorithm in the API to its name in the core. */
export function algorithmOf(label: string): Policy['algorithm'] {
  return NAMES[label] ?? 'fixed-window'
}
