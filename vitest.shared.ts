/** Settings of every suite. */
export const SHARED = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // The default of one second is too short for a busy machine. A successful poll ends at once.
  expect: { poll: { timeout: 10_000 } },
  reporters: ['default'],
}

/** For suites with deadlines: tests that fail while the machine stalls are repeated. */
export const RETRY_AFTER_STALLS = {
  setupFiles: ['scripts/retry-after-stalls.ts'],
  retry: 4,
  provide: { retriesInAnyCase: 0 },
}
