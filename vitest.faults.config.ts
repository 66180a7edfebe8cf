import { defineConfig } from 'vitest/config'

// Faults under load: each file by itself, so that they do not take the processor from each other.
export default defineConfig({
  test: {
    include: ['e2e/*.e2e.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // What is promised here is about time. On a machine that stands still for a second it cannot hold; the report says
    // which tests needed their second chance.
    retry: 1,
    reporters: ['default'],
  },
})
