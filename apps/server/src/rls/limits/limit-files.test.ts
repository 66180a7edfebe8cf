import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readLimitFiles } from './limit-files.js'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-limit-files-'))
  writeFileSync(join(folder, 'a.yaml'), 'domain: a')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** The texts of the files, and the messages of those that cannot be read, by their path in the folder. */
function read(): Record<string, string> {
  return Object.fromEntries(
    readLimitFiles([folder]).map(({ file, text }) => [
      file.slice(folder.length + 1),
      typeof text === 'string' ? text : text.message,
    ]),
  )
}

describe('a folder with limit files', () => {
  it('includes subfolders, and skips names that begin with a dot', () => {
    mkdirSync(join(folder, 'b'))
    writeFileSync(join(folder, 'b', 'c'), 'domain: c')
    writeFileSync(join(folder, '.d'), 'domain: d')
    expect(read()).toStrictEqual({ 'a.yaml': 'domain: a', 'b/c': 'domain: c' })
  })

  it('is an error if files are nested too deep', () => {
    const deep = '1/2/3/4/5/6/7/8/9'
    mkdirSync(join(folder, deep), { recursive: true })
    writeFileSync(join(folder, deep, 'b.yaml'), 'domain: b')
    expect(read()).toStrictEqual({
      'a.yaml': 'domain: a',
      [deep]: 'folders are nested more than 8 levels deep; move the files up',
    })
  })

  it('is an error if it has a pipe', () => {
    execFileSync('mkfifo', [join(folder, 'pipe')])
    expect(read()).toStrictEqual({
      'a.yaml': 'domain: a',
      pipe: 'must be a file, but is a pipe; remove it from the folder',
    })
  })

  // Root may read every folder.
  it.skipIf(process.getuid?.() === 0)('is an error if a folder in it cannot be read', () => {
    const closed = join(folder, 'b')
    mkdirSync(closed, { mode: 0 })
    const found = read()
    chmodSync(closed, 0o700)
    expect(found).toStrictEqual({ 'a.yaml': 'domain: a', b: 'the folder cannot be read by this user' })
  })
})
