import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../src/config/load.js'
import { formatConfigErrors } from '../src/config-file/config-error.js'

// Every file is named after its error, and the expected messages are in the text file beside it. After a change of words,
// `npx vitest run apps/server/test/bad-config.test.ts -u` writes them again: review them before you commit.

const folder = fileURLToPath(new URL('bad-config', import.meta.url))
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
const env = { SECRET: 'hunter2-secret', WORD: 'eighty' }

describe('a file with errors', () => {
  it.each(files)('%s: reports all errors with line, column and what to write', async (file) => {
    const loaded = loadConfig({ file: join(folder, file), env })
    if (!('errors' in loaded)) throw new Error('the file is valid')
    const messages = formatConfigErrors(loaded.errors, file)
    for (const { line, column } of loaded.errors) {
      expect(line).toBeGreaterThanOrEqual(1)
      expect(column).toBeGreaterThanOrEqual(1)
    }
    expect(messages).not.toContain('hunter2')
    await expect(`${messages}\n`).toMatchFileSnapshot(join(folder, file.replace(/\.yaml$/, '.txt')))
  })

  it('has a text file with its messages, and there is no other text file', () => {
    const texts = readdirSync(folder).filter((name) => name.endsWith('.txt'))
    expect(texts.map((name) => name.replace(/\.txt$/, '.yaml')).sort()).toStrictEqual([...files].sort())
    expect(files.length).toBeGreaterThan(40)
  })
})
