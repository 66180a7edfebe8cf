import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('./check-imports.mjs', import.meta.url))

/** What the check says of a tree with these files. */
async function check(files: Record<string, string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-imports-'))
  try {
    for (const [name, source] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), source)
    }
    const { stdout } = await promisify(execFile)(process.execPath, [script, folder])
    return stdout
  } catch (error) {
    return (error as { stderr: string }).stderr
  } finally {
    rmSync(folder, { recursive: true })
  }
}

it.each([
  [
    'a dependency in core',
    { 'packages/core/src/a.ts': "import { x } from 'lodash'" },
    'core has no dependencies',
  ],
  [
    "Node's modules in core",
    { 'packages/core/src/a.ts': "import fs from 'node:fs'" },
    "where Node's modules are not",
  ],
  [
    'loaded late',
    { 'packages/core/src/a.ts': "const fs = await import('node:fs')" },
    "where Node's modules are not",
  ],
  [
    'a type',
    { 'packages/core/src/a.ts': "import type { Redis } from '@tidegate/redis'" },
    'may not import @tidegate/redis',
  ],
  [
    'another part by path',
    { 'bench/src/a.ts': "import { x } from '../../packages/core/src/x.js'" },
    'reaches into another part',
  ],
  [
    'a circle',
    {
      'packages/core/src/a.ts': "import { b } from './b.js'",
      'packages/core/src/b.ts': "export * from './a.js'",
    },
    'a.ts → packages/core/src/b.ts → packages/core/src/a.ts',
  ],
  ['nothing to check', {}, 'found no source files'],
])('finds %s', async (_title, files, says) => {
  expect(await check(files as Record<string, string>)).toContain(says)
})

it('passes what keeps the rule', async () => {
  const files = {
    'packages/core/src/a.ts': "// import 'node:fs' in a comment is nothing\nimport { b } from './b.js'",
    'packages/core/src/b.ts': 'export const b = 1',
    'packages/core/src/b.test.ts': "import assert from 'node:assert'",
    'bench/src/c.ts': "import { b } from '@tidegate/core'\nimport fs from 'node:fs'",
  }
  expect(await check(files)).toContain('4 files keep the rule')
})
