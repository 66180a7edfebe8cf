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
    "Node's modules in http",
    { 'packages/http/src/a.ts': "import net from 'node:net'" },
    "where Node's modules are not",
  ],
  [
    "Node's modules in the client",
    { 'packages/client/src/a.ts': "import http from 'node:http'" },
    "where Node's modules are not",
  ],
  [
    'a file for Node in one that runs everywhere',
    {
      'packages/http/src/a.ts': "import { b } from './node-facts.js'",
      'packages/http/src/node-facts.ts': "import net from 'node:net'",
    },
    'packages/http/src/a.ts may not import ./node-facts.js, which is for Node only',
  ],
  [
    'a store where the service may not know which there are',
    { 'apps/server/src/api/a.ts': "import { RedisStore } from '@tidegate/redis'" },
    'only compose.ts and config/store.ts may',
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
    'a store in the page',
    { 'apps/web/src/a.tsx': "import { RedisStore } from '@tidegate/redis'" },
    'may not import @tidegate/redis',
  ],
  [
    'a circle of components',
    {
      'apps/web/src/a.tsx': "import { B } from './b.js'",
      'apps/web/src/b.tsx': "import { A } from './a.js'",
    },
    'a.tsx → apps/web/src/b.tsx → apps/web/src/a.tsx',
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
    'packages/http/src/express.ts': "import './node-facts.js'\nimport http from 'node:http'",
    'packages/http/src/node-facts.ts': "import http from 'node:http'",
    'bench/src/c.ts': "import { b } from '@tidegate/core'\nimport fs from 'node:fs'",
  }
  expect(await check(files)).toContain('6 files keep the rule')
})
