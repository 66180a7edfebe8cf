import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

// A bundler does not move the files beside the code: a package that reads its own files breaks when it is bundled.

const root = fileURLToPath(new URL('..', import.meta.url))
const READS_FILES =
  /['"](?:node:)?(?:fs|fs\/promises|module)['"]|import\.meta\.(?:url|dirname|filename|resolve)|__dirname|__filename|require\.resolve/

function sourcesOfPackages(): string[] {
  return readdirSync(join(root, 'packages')).flatMap((name) =>
    readdirSync(join(root, 'packages', name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
      .map((file) => join(root, 'packages', name, 'src', file)),
  )
}

it('no published package reads files at run time', () => {
  const sources = sourcesOfPackages()
  expect(sources.length).toBeGreaterThan(50)
  const readers = sources.filter((file) => READS_FILES.test(readFileSync(file, 'utf8')))
  expect(readers.map((file) => relative(root, file))).toStrictEqual([])
})

it.each([
  "import { readFileSync } from 'node:fs'",
  "await import('fs/promises')",
  "new URL('../lua/main.lua', import.meta.url)",
  'join(__dirname, "lua")',
])('finds %s', (line) => {
  expect(line).toMatch(READS_FILES)
})
