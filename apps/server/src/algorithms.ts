import type { AlgorithmName, Policy } from '@tidegate/core'

/** What the API and the metrics call an algorithm. */
export type AlgorithmLabel = (typeof ALGORITHM_LABELS)[number]

export const ALGORITHM_LABELS = [
  'TOKEN_BUCKET',
  'SLIDING_WINDOW',
  'SLIDING_WINDOW_COUNTER',
  'FIXED_WINDOW',
  'LEAKY_BUCKET',
] as const

/** What can be asked for by `algorithm`, and the built-in policy that it means. */
export const ALGORITHM_CHOICES: Readonly<Record<string, string>> = {
  TOKEN_BUCKET: 'token_bucket',
  SLIDING_WINDOW: 'sliding_window',
  SLIDING_WINDOW_LOG: 'sliding_window',
  SLIDING_WINDOW_COUNTER: 'sliding_window_counter',
  FIXED_WINDOW: 'fixed_window',
  LEAKY_BUCKET: 'leaky_bucket',
}

const LABELS: Readonly<Record<AlgorithmName, AlgorithmLabel>> = {
  'token-bucket': 'TOKEN_BUCKET',
  'sliding-window-log': 'SLIDING_WINDOW',
  'sliding-window-counter': 'SLIDING_WINDOW_COUNTER',
  'fixed-window': 'FIXED_WINDOW',
  'leaky-bucket': 'LEAKY_BUCKET',
}

export function labelOf({ algorithm }: Policy): AlgorithmLabel {
  return LABELS[algorithm]
}
