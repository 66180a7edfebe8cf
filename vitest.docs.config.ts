import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.js'

// Every example of the documentation, and every snippet that the page offers to copy, compiled and run.
export default defineConfig({
  test: {
    ...SHARED,
    include: ['scripts/docs.test.ts', 'apps/web/test/snippets.test.ts'],
    maxWorkers: '100%',
  },
})
