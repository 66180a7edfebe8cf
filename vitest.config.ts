import { configDefaults, defineConfig } from 'vitest/config'
import { RETRY_AFTER_STALLS, SHARED } from './vitest.shared.js'

export default defineConfig({
  test: {
    ...SHARED,
    ...RETRY_AFTER_STALLS,
    include: [
      'packages/**/*.test.ts',
      'apps/**/*.test.ts',
      'scripts/**/*.test.ts',
      'bench/src/**/*.test.ts',
      'e2e/src/**/*.test.ts',
    ],
    exclude: [
      ...configDefaults.exclude,
      // `npm run test:docs`.
      'scripts/docs.test.ts',
      'apps/web/test/snippets.test.ts',
      // `npm run test:page`.
      'apps/web/test/*.browser.test.ts',
    ],
    // The default leaves one core free: on two cores that would double the time.
    maxWorkers: '100%',
  },
})
