import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../src/config/load.js'
import { describeMistakes } from '../src/config/mistakes.js'

// Every file is named after its mistake; what is said of it is in the text file beside it. After a change of words,
// `npx vitest run apps/server/test/bad-config.test.ts -u` writes them anew: read them before you hand them in.

const folder = fileURLToPath(new URL('bad-config', import.meta.url))
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
const env = { SECRET: 'hunter2-secret', WORD: 'eighty' }

describe('a file with mistakes', () => {
  it.each(files)('%s: all of them are told, with line, column and what to write', async (file) => {
    const loaded = loadConfig({ file: join(folder, file), env })
    if (!('mistakes' in loaded)) throw new Error('no mistake was found')
    const told = describeMistakes(loaded.mistakes, file)
    for (const { line, column } of loaded.mistakes) {
      expect(line).toBeGreaterThanOrEqual(1)
      expect(column).toBeGreaterThanOrEqual(1)
    }
    expect(told).not.toContain('hunter2')
    await expect(`${told}\n`).toMatchFileSnapshot(join(folder, file.replace(/\.yaml$/, '.txt')))
  })

  it('has a text beside it, and every text has a file', () => {
    const texts = readdirSync(folder).filter((name) => name.endsWith('.txt'))
    expect(texts.map((name) => name.replace(/\.txt$/, '.yaml')).sort()).toStrictEqual([...files].sort())
    expect(files.length).toBeGreaterThan(40)
  })
})
