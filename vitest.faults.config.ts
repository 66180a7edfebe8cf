import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.js'

// Faults under load. One file at a time, so that the tests do not slow each other down.
export default defineConfig({
  test: {
    ...SHARED,
    include: ['e2e/*.e2e.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    // These tests measure time, and a machine that stalls for a second fails them. The report names every retried test.
    retry: 1,
  },
})
