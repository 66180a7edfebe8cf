import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'

const checkLua = fileURLToPath(new URL('./check-lua.mjs', import.meta.url))
let copy: string

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'check-lua-'))
  cpSync(fileURLToPath(new URL('../packages/redis/lua', import.meta.url)), join(copy, 'lua'), {
    recursive: true,
  })
})
afterEach(() => rmSync(copy, { recursive: true }))

function check(): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [checkLua, copy], { encoding: 'utf8' })
}

it('the Lua files are clean', () => {
  const { status, stdout } = check()
  expect([status, stdout]).toStrictEqual([0, expect.stringContaining('0 warnings')])
})

it.each([
  ['a global variable', 'count = 1', 'setting non-standard global variable'],
  ['an unused variable', 'local unused = 1', 'unused variable'],
  ['a syntax error', 'if then', 'expected'],
])('finds %s', (_, line, warning) => {
  const file = join(copy, 'lua', 'lib', 'exact.lua')
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n${line}\n`)
  const { status, stdout } = check()
  expect([status, stdout]).toStrictEqual([1, expect.stringContaining(warning)])
})

it('detects a function that is used before its definition', () => {
  const file = join(copy, 'lua', 'lib', 'exact.lua')
  writeFileSync(file, `${readFileSync(file, 'utf8')}\ntoken_bucket()\n`)
  const { status, stdout } = check()
  expect([status, stdout]).toStrictEqual([1, expect.stringContaining("undefined variable 'token_bucket'")])
})
