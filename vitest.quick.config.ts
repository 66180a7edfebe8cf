import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.js'

// Unit tests that start no program: no Redis, browser or child process. For use while editing.
export default defineConfig({
  test: {
    ...SHARED,
    include: ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts', 'bench/src/report/*.test.ts'],
    exclude: [
      '**/*.redis.test.ts',
      '**/*.browser.test.ts',
      '**/*.service.test.ts',
      // Starts the TypeScript compiler.
      '**/decorator.test.ts',
      // Many seconds of random traces and schedules, or of time zones, each.
      '**/algorithms/promises.test.ts',
      '**/leases/{adversarial,exhaustive}.test.ts',
      '**/units/calendar.test.ts',
      // Send requests to a whole framework, service or gateway.
      'packages/http/src/frameworks/**',
      'apps/server/src/{api,gateway}/**',
      // Start the service in a child process, or openssl.
      'apps/server/src/run/**',
      '**/cli.test.ts',
      '**/connections.test.ts',
      '**/full-disk.test.ts',
    ],
    // One module cache per worker: tests share no state, and otherwise half of the time goes into loading modules.
    pool: 'threads',
    isolate: false,
    maxWorkers: '100%',
  },
})
