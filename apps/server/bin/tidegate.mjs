#!/usr/bin/env node
// In git, not built: npm links only a bin that is there when it installs, and that is before the build.
import { existsSync } from 'node:fs'

const main = new URL('../dist/main.js', import.meta.url)
if (existsSync(main)) {
  await import('../dist/main.js')
} else {
  process.stderr.write('tidegate is not built yet; run npm run build first.\n')
  process.exitCode = 1
}
