import type { AlgorithmName } from '@tidegate/core'

const NAMES: Readonly<Record<string, AlgorithmName>> = {
  TOKEN_BUCKET: 'token-bucket',
  LEAKY_BUCKET: 'leaky-bucket',
  SLIDING_WINDOW: 'sliding-window-log',
  SLIDING_WINDOW_COUNTER: 'sliding-window-counter',
  FIXED_WINDOW: 'fixed-window',
}

/** What the service calls an algorithm, by the name that the rest of the page uses. */
export function algorithmOf(label: string): AlgorithmName {
  return NAMES[label] ?? 'fixed-window'
}
