import { defineConfig } from 'vitest/config'
import { RETRY_AFTER_STALLS, SHARED } from './vitest.shared.js'

// Every view of the page in a real browser: in both languages and themes, on phones and with a keyboard only.
export default defineConfig({
  test: {
    ...SHARED,
    ...RETRY_AFTER_STALLS,
    include: ['apps/web/test/*.browser.test.ts'],
    maxWorkers: '100%',
    // A busy machine stalls the browser for seconds.
    provide: { retriesInAnyCase: 1 },
  },
})
