import type { Policy } from '@tidegate/core'

/** The names of algorithms in the API and the metrics. */
export type AlgorithmLabel = (typeof ALGORITHM_LABELS)[number]

export const ALGORITHM_LABELS = [
  'TOKEN_BUCKET',
  'SLIDING_WINDOW',
  'SLIDING_WINDOW_COUNTER',
  'FIXED_WINDOW',
  'LEAKY_BUCKET',
  'CONCURRENCY',
] as const

/** The values of `algorithm` in a request, and the built-in policy of each. */
export const ALGORITHM_CHOICES: Readonly<Record<string, string>> = {
  TOKEN_BUCKET: 'token_bucket',
  SLIDING_WINDOW: 'sliding_window',
  SLIDING_WINDOW_LOG: 'sliding_window',
  SLIDING_WINDOW_COUNTER: 'sliding_window_counter',
  FIXED_WINDOW: 'fixed_window',
  LEAKY_BUCKET: 'leaky_bucket',
}

const LABELS: Readonly<Record<Policy['algorithm'], AlgorithmLabel>> = {
  'token-bucket': 'TOKEN_BUCKET',
  'sliding-window-log': 'SLIDING_WINDOW',
  'sliding-window-counter': 'SLIDING_WINDOW_COUNTER',
  'fixed-window': 'FIXED_WINDOW',
  'leaky-bucket': 'LEAKY_BUCKET',
  concurrency: 'CONCURRENCY',
}

export function labelOf({ algorithm }: Policy): AlgorithmLabel {
  return LABELS[algorithm]
}
