import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// Every ```ts block of the documentation is compiled strictly and run, and every ```js block is run as CommonJS. A comment `<!-- test … -->` right after a block is
// appended to it: readers do not see it. Such a block may listen on a fixed port, see docs-preload.mjs. The address of Redis
// in a block, redis://localhost:6379, is that of a server which is started for these tests.

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const REDIS_URL = 'redis://localhost:6379'
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`),
]

const examples = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = text.matchAll(/^```(ts|js)\n([\s\S]*?)^```$(?:\n<!-- test\n([\s\S]*?)-->)?/gm)
  return [...blocks].map((match, i) => ({
    title: `${page}, line ${text.slice(0, match.index).split('\n').length}`,
    file: `${page.replace(/\.md$/, '').replaceAll('/', '-')}-${i + 1}`,
    isCommonJs: match[1] === 'js',
    code: `${match[2] ?? ''}\n${match[3] ?? ''}`,
    isPreloaded: match[3] !== undefined,
  }))
})

describe('the examples in the documentation', () => {
  let folder = ''
  let redis: RedisServer

  beforeAll(async () => {
    redis = await startRedis()
    // Inside node_modules, so that @tidegate/core is found as a user's project finds it.
    const cache = join(root, 'node_modules', '.cache')
    mkdirSync(cache, { recursive: true })
    folder = mkdtempSync(join(cache, 'docs-'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          target: 'ES2023',
          module: 'nodenext',
          strict: true,
          types: ['node'],
          outDir: 'out',
          skipLibCheck: true,
        },
        include: ['*.ts'],
      }),
    )
    writeFileSync(join(folder, 'preload.d.ts'), 'declare function listening(): Promise<string>')
    for (const { file, code, isCommonJs } of examples) {
      const onRedis = code.replaceAll(REDIS_URL, redis.url)
      if (isCommonJs) writeFileSync(join(folder, `${file}.cjs`), onRedis)
      else writeFileSync(join(folder, `${file}.ts`), `${onRedis}\nexport {}\n`)
    }
    await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error) => {
      throw new Error(`The examples do not compile:\n${error.stdout}`)
    })
  })

  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await redis.stop()
  })

  it('exist', () => {
    expect(examples.length).toBeGreaterThan(10)
  })

  it.each(examples)('$title runs', async ({ file, code, isPreloaded, isCommonJs }) => {
    if (code.includes(REDIS_URL)) await redis.ask('FLUSHALL')
    const preload = isPreloaded ? ['--import', join(root, 'scripts/docs-preload.mjs')] : []
    await run(
      process.execPath,
      [...preload, isCommonJs ? join(folder, `${file}.cjs`) : join(folder, 'out', `${file}.js`)],
      { timeout: 30_000 },
    )
  })
})

it('examples/five-algorithms.mjs compares the five algorithms', async () => {
  const { stdout } = await run(process.execPath, [join(root, 'examples/five-algorithms.mjs')])
  for (const name of ['fixed', 'log', 'counter', 'token', 'leaky'])
    expect(stdout).toMatch(new RegExp(name, 'i'))
  expect(stdout).toMatch(/\b200\b/)
})
