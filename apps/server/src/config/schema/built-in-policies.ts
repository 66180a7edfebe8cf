/** The built-in policies, one for each algorithm. A check selects one by `algorithm=TOKEN_BUCKET`. */
export const BUILT_IN = {
  token_bucket: { algorithm: 'token-bucket', capacity: 100, refillRate: 10 },
  leaky_bucket: { algorithm: 'leaky-bucket', capacity: 100, leakRate: 10 },
  sliding_window: { algorithm: 'sliding-window-log', limit: 100, window: '60s' },
  sliding_window_counter: { algorithm: 'sliding-window-counter', limit: 100, window: '60s' },
  fixed_window: { algorithm: 'fixed-window', limit: 100, window: '60s' },
} as const
