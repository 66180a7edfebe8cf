import { defineConfig } from 'vitest/config'

// Faults under load: each file by itself, so that they do not take the processor from each other.
export default defineConfig({
  test: {
    include: ['e2e/*.e2e.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
})
