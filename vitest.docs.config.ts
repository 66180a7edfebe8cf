import { defineConfig } from 'vitest/config'
import { RETRY_AFTER_STALLS, SHARED } from './vitest.shared.js'

// Every example of the documentation, and every snippet that the page offers to copy, compiled and run.
export default defineConfig({
  test: {
    ...SHARED,
    ...RETRY_AFTER_STALLS,
    include: ['scripts/docs.test.ts', 'apps/web/test/snippets.test.ts'],
    maxWorkers: '100%',
  },
})
