import { defineConfig } from 'vitest/config'
import { SHARED } from './vitest.shared.js'

// Packed tarballs in projects of their own. Each test installs from the registry and starts compilers or servers.
export default defineConfig({
  test: {
    ...SHARED,
    include: ['matrix/**/*.test.ts'],
    globalSetup: ['matrix/src/pack.ts'],
    maxWorkers: 2,
    // A registry fails now and then.
    retry: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
