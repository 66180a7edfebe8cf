#!/usr/bin/env node
// Committed, and not built: npm links a bin only if the file exists during the installation, which is before the build.
import { existsSync } from 'node:fs'

const main = new URL('../dist/main.js', import.meta.url)
if (existsSync(main)) {
  await import('../dist/main.js')
} else {
  process.stderr.write('tidegate is not built yet; run npm run build first.\n')
  process.exitCode = 1
}
