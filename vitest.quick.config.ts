import { defineConfig } from 'vitest/config'

// Unit tests of the libraries and the page that start no program: no Redis, browser or child process. For use while editing.
export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'apps/web/src/**/*.test.ts'],
    exclude: [
      '**/*.redis.test.ts',
      '**/*.browser.test.ts',
      '**/*.service.test.ts',
      // Starts the TypeScript compiler.
      'packages/http/src/decorator.test.ts',
      // A minute of random traces.
      'packages/core/src/algorithms/promises.test.ts',
    ],
    maxWorkers: '100%',
    testTimeout: 60_000,
    reporters: ['default'],
  },
})
