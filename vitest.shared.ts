/** Settings of every suite. */
export const SHARED = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // The default of one second is too short for a busy machine. A successful poll ends at once.
  expect: { poll: { timeout: 10_000 } },
  reporters: ['default'],
}

/** For suites with deadlines: tests that fail while the machine stalls are repeated. */
export const RETRY_AFTER_STALLS = {
  setupFiles: ['scripts/retry-after-stalls.ts'],
  retry: 4,
  provide: { retriesInAnyCase: 0 },
}

/** Tests beside their subjects. */
const SOURCE_FOLDERS = [
  'packages/*/src/**/*.test.ts',
  'apps/*/src/**/*.test.ts',
  'bench/src/report/*.test.ts',
]

/** Of these, the tests that take long, or need a process of their own. */
export const NO_UNITS = [
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
  'packages/http/src/frameworks/**/*.test.ts',
  'apps/server/src/{api,gateway}/**/*.test.ts',
  // Start the service in a child process, or openssl.
  'apps/server/src/run/**/*.test.ts',
  '**/cli.test.ts',
  '**/connections.test.ts',
  '**/full-disk.test.ts',
]

/** Tests of functions and small parts. They start no program: no Redis, browser or child process. */
export const UNITS = {
  include: SOURCE_FOLDERS,
  exclude: ['**/node_modules/**', ...NO_UNITS],
  // One module cache per worker: otherwise most of the time goes into starting workers and loading modules.
  pool: 'threads' as const,
  isolate: false,
}
