import { defineConfig } from 'vitest/config'
import { RETRY_AFTER_STALLS, SHARED } from './vitest.shared.js'

// Faults under load. One file at a time, so that the tests do not slow each other down.
export default defineConfig({
  test: {
    ...SHARED,
    ...RETRY_AFTER_STALLS,
    include: ['e2e/*.e2e.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    // These tests measure time, and start several busy processes on two cores.
    provide: { retriesInAnyCase: 1 },
  },
})
