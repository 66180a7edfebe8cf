import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = readFileSync(join(root, 'docs/contributors/architecture.md'), 'utf8')
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
const GENERATED = ['redis/src/script/lua.generated.ts']

/** The paths of files in a text. */
function pathsIn(text: string): string[] {
  return [...new Set(text.match(/[\w.][\w./-]*\.(?:tsx?|mjs|lua|yaml)\b/g))]
}

/** The files whose paths end with this one. */
function filesAt(path: string): string[] {
  const end = `/${path.replace(/^(\.\.?\/)+/, '')}`
  return files.filter((file) => `/${file}`.endsWith(end))
}

describe('docs/contributors/architecture.md', () => {
  it('names only files that exist', () => {
    const missing = pathsIn(page).filter((path) => filesAt(path).length === 0)
    expect(missing.filter((path) => !GENERATED.includes(path))).toStrictEqual([])
  })

  it.each(['One check', 'On Redis'])('%s: counts the files and lines of the picture', (heading) => {
    const section = page.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
    const picture = section.split('```text\n')[1]!.split('```')[0]!
    const found = pathsIn(picture).map((path) => {
      const matches = filesAt(path).filter((file) => /^packages\/(core|redis)\//.test(file))
      expect(matches, path).toHaveLength(1)
      return matches[0]!
    })
    const shown = [...new Set(found)]
    const lines = shown.map((file) => readFileSync(join(root, file), 'utf8').split('\n').length - 1)
    const total = lines.reduce((sum, count) => sum + count, 0)
    const [, fileCount, lineCount] = /These are (\d+) files with about ([\d,]+) lines/.exec(section)!
    expect(Number(fileCount), shown.map((file) => basename(file)).join(' ')).toBe(shown.length)
    expect(Math.abs(Number(lineCount!.replace(',', '')) / total - 1), `${total} lines`).toBeLessThan(0.1)
  })
})
