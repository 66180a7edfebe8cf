import { configDefaults, defineConfig } from 'vitest/config'
import { NO_UNITS, RETRY_AFTER_STALLS, SHARED, UNITS } from './vitest.shared.js'

export default defineConfig({
  test: {
    ...SHARED,
    ...RETRY_AFTER_STALLS,
    // The default leaves one core free: on two cores that would double the time.
    maxWorkers: '100%',
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: [
            ...NO_UNITS,
            'packages/*/test/**/*.test.ts',
            'apps/*/test/**/*.test.ts',
            'scripts/**/*.test.ts',
            'bench/src/**/*.test.ts',
            'e2e/src/**/*.test.ts',
          ],
          exclude: [
            ...configDefaults.exclude,
            // A unit.
            'bench/src/report/**',
            // `npm run test:docs`.
            'scripts/docs.test.ts',
            'apps/web/test/snippets.test.ts',
            // `npm run test:page`.
            'apps/web/test/*.browser.test.ts',
          ],
        },
      },
      { extends: true, test: { name: 'units', ...UNITS } },
    ],
  },
})
