import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'

// The servers in examples/middleware, started as their comments say.

const root = fileURLToPath(new URL('../../../', import.meta.url))
const examples = join(root, 'examples/middleware')
const running: ChildProcess[] = []
let folder = ''

beforeAll(async () => {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  folder = mkdtempSync(join(cache, 'examples-'))
  const config = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      types: ['node'],
      composite: false,
      declaration: false,
      declarationMap: false,
      tsBuildInfoFile: null,
      rootDir: examples,
      outDir: folder,
    },
    files: [join(examples, 'nest.ts')],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error) => {
    throw new Error(`nest.ts does not compile:\n${error.stdout}`)
  })
})

afterEach(async () => {
  for (const one of running.splice(0)) {
    if (one.exitCode !== null) continue
    one.kill()
    await once(one, 'exit')
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Starts a server and returns the address that it prints. */
async function start(file: string): Promise<string> {
  const server = spawn(process.execPath, [file], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(server)
  let output = ''
  server.stderr.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  for await (const line of createInterface({ input: server.stdout })) {
    if (line.startsWith('http://')) return line
  }
  throw new Error(`${basename(file)} exited without an address: ${output}`)
}

const files = readdirSync(examples).filter((name) => /\.(mjs|ts)$/.test(name))

it('exist for each framework', () => {
  const names = ['express', 'fastify', 'fetch', 'hono', 'koa', 'nest', 'node']
  expect(files.map((name) => name.replace(/\..*$/, ''))).toStrictEqual(names)
})

it.each(files)('%s allows three searches, and every health check', async (name) => {
  const file = name.endsWith('.ts') ? join(folder, name.replace('.ts', '.js')) : join(examples, name)
  const url = await start(file)
  const ask = async (path: string) => {
    const response = await fetch(`${url}${path}`)
    await response.text()
    return response
  }
  const searches = []
  for (let i = 0; i < 4; i++) searches.push(await ask('/search'))
  expect(searches.map(({ status }) => status)).toStrictEqual([200, 200, 200, 429])
  expect(searches[3]?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  for (let i = 0; i < 25; i++) {
    const { status, headers } = await ask('/health')
    expect([status, headers.get('x-ratelimit-remaining')]).toStrictEqual([200, null])
  }
})
