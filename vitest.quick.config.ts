import { defineConfig } from 'vitest/config'

// Unit tests that start no program: no Redis, browser, certificate tool or child process. For use while editing.
export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts'],
    exclude: [
      '**/*.redis.test.ts',
      '**/*.browser.test.ts',
      '**/*.service.test.ts',
      'apps/server/src/run/**',
      'apps/server/src/cli.test.ts',
      'apps/server/src/gateway/tls.test.ts',
      'apps/server/src/log/full-disk.test.ts',
      'packages/core/src/inlining.test.ts',
      'packages/http/src/decorator.test.ts',
    ],
    maxWorkers: '100%',
    testTimeout: 60_000,
    reporters: ['default'],
  },
})
