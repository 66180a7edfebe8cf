import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('./check-imports.mjs', import.meta.url))

/** The output of the check for a tree with these files. */
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
    'code of the service in the dashboard',
    { 'apps/web/src/a.ts': "import { createLive } from 'tidegate/dist/live/live.js'" },
    'apps/web/src/a.ts may not import tidegate/dist/live/live.js',
  ],
  [
    'a dependency in core',
    { 'packages/core/src/a.ts': "import { x } from 'lodash'" },
    'core has no dependencies',
  ],
  [
    "Node's modules in core",
    { 'packages/core/src/a.ts': "import fs from 'node:fs'" },
    "where Node's modules do not exist",
  ],
  [
    "Node's modules in http",
    { 'packages/http/src/a.ts': "import net from 'node:net'" },
    "where Node's modules do not exist",
  ],
  [
    "Node's modules in the client",
    { 'packages/client/src/a.ts': "import http from 'node:http'" },
    "where Node's modules do not exist",
  ],
  [
    'a file for Node in one that runs everywhere',
    {
      'packages/http/src/a.ts': "import { b } from './frameworks/node-facts.js'",
      'packages/http/src/frameworks/node-facts.ts': "import net from 'node:net'",
    },
    'packages/http/src/a.ts may not import ./frameworks/node-facts.js, which is for Node only',
  ],
  [
    'a store outside of the files that choose the store',
    { 'apps/server/src/api/a.ts': "import { RedisStore } from '@tidegate/redis'" },
    'only compose.ts and config/sections/store.ts may',
  ],
  [
    'a dynamic import',
    { 'packages/core/src/a.ts': "const fs = await import('node:fs')" },
    "where Node's modules do not exist",
  ],
  [
    'an import of a type',
    { 'packages/core/src/a.ts': "import type { Redis } from '@tidegate/redis'" },
    'may not import @tidegate/redis',
  ],
  [
    'a store in the page',
    { 'apps/web/src/a.tsx': "import { RedisStore } from '@tidegate/redis'" },
    'may not import @tidegate/redis',
  ],
  [
    'a cycle of components',
    {
      'apps/web/src/a.tsx': "import { B } from './b.js'",
      'apps/web/src/b.tsx': "import { A } from './a.js'",
    },
    'a.tsx → apps/web/src/b.tsx → apps/web/src/a.tsx',
  ],
  [
    'another part by path',
    { 'bench/src/a.ts': "import { x } from '../../packages/core/src/x.js'" },
    'imports another part by path',
  ],
  [
    'a cycle of files',
    {
      'packages/core/src/a.ts': "import { b } from './b.js'",
      'packages/core/src/b.ts': "export * from './a.js'",
    },
    'a.ts → packages/core/src/b.ts → packages/core/src/a.ts',
  ],
  [
    'a cycle of two folders whose files have none',
    {
      'packages/http/src/keys/a.ts': "import { b } from '../rules/b.js'",
      'packages/http/src/rules/b.ts': 'export const b = 1',
      'packages/http/src/rules/c.ts': "import type { D } from '../keys/d.js'",
      'packages/http/src/keys/d.ts': 'export type D = string',
    },
    'import cycle of folders: packages/http/src/keys → packages/http/src/rules → packages/http/src/keys',
  ],
  [
    'a cycle of three folders',
    {
      'packages/client/src/a/one.ts': "import '../b/two.js'",
      'packages/client/src/b/two.ts': 'export const two = 2',
      'packages/client/src/b/three.ts': "import '../c/four.js'",
      'packages/client/src/c/four.ts': 'export const four = 4',
      'packages/client/src/c/five.ts': "import '../a/six.js'",
      'packages/client/src/a/six.ts': 'export const six = 6',
    },
    'packages/client/src/a → packages/client/src/b → packages/client/src/c → packages/client/src/a',
  ],
  [
    'a cycle of folders inside of a folder',
    {
      'packages/http/src/keys/a/one.ts': "import '../b/two.js'",
      'packages/http/src/keys/b/two.ts': 'export const two = 2',
      'packages/http/src/keys/b/three.ts': "import '../a/four.js'",
      'packages/http/src/keys/a/four.ts': 'export const four = 4',
    },
    'packages/http/src/keys/a → packages/http/src/keys/b → packages/http/src/keys/a',
  ],
  [
    'a cycle of a folder and a file beside it',
    {
      'packages/http/src/request.ts': "import '../src/keys/key.js'",
      'packages/http/src/keys/key.ts': 'export const key = 1',
      'packages/http/src/keys/template.ts': "import '../request.js'",
    },
    'packages/http/src/request.ts → packages/http/src/keys → packages/http/src/request.ts',
  ],
  [
    'two files with one name',
    {
      'packages/client/src/cache/options.ts': 'export const a = 1',
      'packages/client/src/backoff/options.ts': 'export const b = 1',
    },
    'has the same name as packages/client/src/',
  ],
  ['a tree without sources', {}, 'found no source files'],
])('finds %s', async (_title, files, message) => {
  expect(await check(files as Record<string, string>)).toContain(message)
})

it('accepts a tree that follows the rules', async () => {
  const files = {
    'packages/core/src/a.ts': "// import 'node:fs' in a comment\nimport { b } from './b.js'",
    'packages/core/src/b.ts': 'export const b = 1',
    'packages/core/src/b.test.ts': "import assert from 'node:assert'",
    'packages/http/src/frameworks/express.ts': "import './node-facts.js'\nimport http from 'node:http'",
    'packages/http/src/frameworks/node-facts.ts': "import http from 'node:http'",
    'packages/http/src/index.ts': "export * from './keys/key.js'",
    'packages/http/src/keys/key.ts': "import type { Facts } from '../facts.js'",
    'packages/http/src/keys/index.ts': "export * from './key.js'",
    'packages/http/src/keys/key.test.ts': "import '../frameworks/express.js'",
    'packages/http/src/facts.ts': 'export type Facts = object',
    'bench/src/c.ts': "import { b } from '@tidegate/core'\nimport fs from 'node:fs'",
  }
  expect(await check(files)).toContain('11 files follow the rules')
})
