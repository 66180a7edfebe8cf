import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.js'

// Every view of the page in a real browser: in both languages and themes, on phones and with a keyboard only.
export default defineConfig({
  test: {
    ...SHARED,
    include: ['apps/web/test/*.browser.test.ts'],
    maxWorkers: '100%',
    // A busy machine stalls the browser for seconds. The report names every retried test.
    retry: 1,
  },
})
