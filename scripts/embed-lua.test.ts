import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { embedLua, readScripts } from './embed-lua.mjs'

const redisPackage = fileURLToPath(new URL('../packages/redis', import.meta.url))
let copy: string

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'embed-lua-'))
  cpSync(join(redisPackage, 'lua'), join(copy, 'lua'), { recursive: true })
  mkdirSync(join(copy, 'src', 'script'), { recursive: true })
})
afterEach(() => rmSync(copy, { recursive: true }))

it('the embedded scripts are those of lua/; run npm run build if they are not', () => {
  embedLua(copy)
  const embedded = readFileSync(join(redisPackage, 'src', 'script', 'lua.generated.ts'), 'utf8')
  expect(embedded).toBe(readFileSync(join(copy, 'src', 'script', 'lua.generated.ts'), 'utf8'))
  for (const { text } of readScripts(join(copy, 'lua'))) {
    expect(embedded).toContain(JSON.stringify(text))
    expect(embedded).toContain(createHash('sha1').update(text).digest('hex'))
  }
})

it('an unchanged module is not written again', () => {
  embedLua(copy)
  const before = statSync(join(copy, 'src', 'script', 'lua.generated.ts'), { bigint: true }).mtimeNs
  embedLua(copy)
  expect(statSync(join(copy, 'src', 'script', 'lua.generated.ts'), { bigint: true }).mtimeNs).toBe(before)
})

it('a missing file fails the build', () => {
  rmSync(join(copy, 'lua', 'lib', 'state.lua'))
  expect(() => embedLua(copy)).toThrow('state.lua')
})

it('a file that belongs to no script fails the build', () => {
  writeFileSync(join(copy, 'lua', 'extra.lua'), '')
  expect(() => embedLua(copy)).toThrow('extra.lua')
})
