import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// The packages as users get them: packed, in a project of their own, with only what that project needs.

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
let folder = ''

/** What each part is for, and what has to be there to load it. */
const PARTS = {
  '@tidegate/core': [],
  '@tidegate/client': [],
  '@tidegate/redis': ['ioredis', 'cluster-key-slot'],
  '@tidegate/http': [],
  '@tidegate/http/express': [],
  '@tidegate/http/fastify': [],
  '@tidegate/http/koa': [],
  '@tidegate/http/node': [],
  '@tidegate/http/fetch': [],
  '@tidegate/http/decorator': [],
  '@tidegate/http/hono': ['hono'],
  '@tidegate/http/nest': ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'],
} as const

type Part = keyof typeof PARTS

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-packed-'))
  const packages = ['core', 'redis', 'http', 'client'].flatMap((name) => ['-w', `packages/${name}`])
  const args = ['pack', '--json', '--pack-destination', folder, ...packages]
  const { stdout } = await run('npm', args, { cwd: root })
  for (const { name, filename } of JSON.parse(stdout) as { name: string; filename: string }[]) {
    const to = join(folder, 'packed', name)
    mkdirSync(to, { recursive: true })
    await run('tar', ['-xzf', join(folder, filename), '-C', to, '--strip-components=1'])
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

let projects = 0
/** A project in which our packages are unpacked, and beside them only these. */
function project(...packages: string[]): string {
  const at = join(folder, `project-${projects++}`)
  const modules = join(at, 'node_modules')
  mkdirSync(modules, { recursive: true })
  cpSync(join(folder, 'packed'), modules, { recursive: true })
  for (const name of ['@noble/hashes', ...packages]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  writeFileSync(join(at, 'package.json'), '{ "type": "module" }')
  return at
}

/** What a program prints. */
async function printed(at: string, file: string, program: string): Promise<string> {
  writeFileSync(join(at, file), program)
  const { stdout } = await run(process.execPath, [file], { cwd: at })
  return stdout.trim()
}

describe('what is packed', () => {
  it('has the build, and neither tests nor records of the build', () => {
    const dist = join(folder, 'packed/@tidegate/http/dist')
    expect(existsSync(join(dist, 'express.js'))).toBe(true)
    expect(existsSync(join(dist, 'express.d.ts'))).toBe(true)
    expect(existsSync(join(dist, 'tsconfig.tsbuildinfo'))).toBe(false)
    expect(existsSync(join(dist, 'express.test.js'))).toBe(false)
    expect(existsSync(join(folder, 'packed/@tidegate/http/src/express.test.ts'))).toBe(false)
  })

  it.each(['core', 'redis', 'http', 'client'])(
    'has what to read: the licence, a page, and every source that its maps of %s name',
    (name) => {
      const packed = join(folder, 'packed/@tidegate', name)
      for (const page of ['LICENSE', 'README.md']) expect(existsSync(join(packed, page))).toBe(true)
      const maps = readdirSync(join(packed, 'dist'), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.map'))
        .map((file) => join(packed, 'dist', file))
      expect(maps.length).toBeGreaterThan(0)
      for (const map of maps) {
        const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] }
        for (const source of sources) expect(existsSync(join(dirname(map), source)), source).toBe(true)
      }
    },
  )

  it('says that no framework has to be there', async () => {
    const at = project()
    const metadata = await printed(
      at,
      'peers.mjs',
      `import own from '@tidegate/http/package.json' with { type: 'json' }
       const { peerDependencies, peerDependenciesMeta } = own
       console.log(Object.keys(peerDependencies).every((name) => peerDependenciesMeta[name].optional))`,
    )
    expect(metadata).toBe('true')
  })
})

describe('only the framework in use has to be there', () => {
  it.each(Object.keys(PARTS) as Part[])('for %s', async (part) => {
    const at = project(...PARTS[part])
    const names = `console.log(Object.keys(loaded).sort().join())`
    const imported = await printed(at, 'load.mjs', `import * as loaded from '${part}'\n${names}`)
    const required = await printed(at, 'load.cjs', `const loaded = require('${part}')\n${names}`)
    expect(imported).toMatch(/[rR]ateLimit|Limiter|Store/)
    expect(
      required
        .split(',')
        .filter((name) => name !== '__esModule')
        .join(),
    ).toBe(imported)
  })
})

const PROGRAM = `
  const policy = fixedWindow({ limit: 1, window: '1h', name: 'api' })
  const limit = rateLimit({ limiter: createLimiter({ policy }) })
  const server = createServer(limit((_, response) => response.end('hello')))
  server.listen(0, '127.0.0.1', async () => {
    const url = 'http://127.0.0.1:' + server.address().port
    const statuses = []
    for (let i = 0; i < 2; i++) statuses.push((await fetch(url)).status)
    console.log(statuses.join())
    server.closeAllConnections()
    server.close()
  })`

it.each([
  [
    'an ES module',
    'serve.mjs',
    `import { createServer } from 'node:http'
     import { createLimiter, fixedWindow } from '@tidegate/core'
     import { rateLimit } from '@tidegate/http/node'`,
  ],
  [
    'CommonJS',
    'serve.cjs',
    `const { createServer } = require('node:http')
     const { createLimiter, fixedWindow } = require('@tidegate/core')
     const { rateLimit } = require('@tidegate/http/node')`,
  ],
])('%s limits a server', async (_, file, imports) => {
  expect(await printed(project(), file, `${imports}\n${PROGRAM}`)).toBe('200,429')
})

describe('types', () => {
  const everything = [
    ...['express', 'fastify', 'koa', 'hono', '@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'],
    ...['@types/node', '@types/express', '@types/koa', 'ioredis', 'cluster-key-slot'],
  ]
  const program = `
    import express from 'express'
    import { fastify } from 'fastify'
    import { Hono } from 'hono'
    import Koa from 'koa'
    import { createServer } from 'node:http'
    import { createRemoteLimiter, withBackoff } from '@tidegate/client'
    import { createLimiter, fixedWindow, type Policy, type Store } from '@tidegate/core'
    import { byUser, firstOf, byIp } from '@tidegate/http'
    import { RateLimit, RateLimitExceededError } from '@tidegate/http/decorator'
    import { rateLimit as forExpress } from '@tidegate/http/express'
    import { rateLimit as forFastify } from '@tidegate/http/fastify'
    import { rateLimit as forFetch } from '@tidegate/http/fetch'
    import { rateLimit as forHono } from '@tidegate/http/hono'
    import { rateLimit as forKoa } from '@tidegate/http/koa'
    import { RateLimit as Limited, RateLimitModule, SkipRateLimit } from '@tidegate/http/nest'
    import { rateLimit as forNode } from '@tidegate/http/node'

    import { RedisStore } from '@tidegate/redis'

    const policy: Policy = fixedWindow({ limit: 1, window: '1h' })
    const limiter = createLimiter({ policy })
    express().use(forExpress({ limiter, key: (request) => request.get('x-user-id') }))
    const app = fastify()
    app.register(forFastify, { limiter, key: (request) => request.hostname })
    app.get('/', { config: { rateLimit: { cost: 5 } } }, async () => 'hello')
    new Koa().use(forKoa({ limiter, cost: (context) => Number(context.get('x-cost')) }))
    new Hono().use(forHono({ limiter, key: firstOf(byUser((c: { user?: string }) => c.user), byIp()) }))
    createServer(forNode({ limiter })((request, response) => response.end(request.url)))
    const handle = forFetch({ limiter })((request, env: { name: string }) => new Response(env.name + request.url))
    createServer(forNode({ limiter: createRemoteLimiter({ url: 'http://localhost:8080', policy: 'api' }) })(() => {}))
    export const patient: typeof fetch = withBackoff(fetch)
    export const shared = (): Store => new RedisStore('redis://localhost')
    export const answer: Promise<Response> = handle(new Request('http://localhost'), { name: 'x' })
    export const module_ = RateLimitModule.forRoot({ limiter })
    export const decorators = [Limited({ cost: 2 }), SkipRateLimit()]
    export class Service {
      @RateLimit({ limit: 1, window: '1m', key: (user: string) => user })
      search(user: string, text: string): string {
        return user + text
      }
    }
    export function isRefused(error: unknown): number {
      return error instanceof RateLimitExceededError ? error.decision.retryAfterMs : 0
    }
    // @ts-expect-error: there is no such option
    forExpress({ limiter, windowMs: 5 })
    // @ts-expect-error: a request of Express has no such method
    forExpress({ limiter, key: (request) => request.nothing() })
  `
  it.each([
    ['node16', 'node16', 'program.mts'],
    ['node20', 'node20', 'program.mts'],
    ['node20, from CommonJS', 'node20', 'program.cts'],
    ['nodenext', 'nodenext', 'program.mts'],
    ['nodenext, from CommonJS', 'nodenext', 'program.cts'],
    ['bundler', 'bundler', 'program.ts'],
  ])('compile under %s', async (_, resolution, file) => {
    const at = project(...everything)
    writeFileSync(join(at, file), program)
    const isBundler = resolution === 'bundler'
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'ES2023',
      lib: ['ES2023'],
      types: ['node'],
      module: isBundler ? 'preserve' : resolution,
      moduleResolution: isBundler ? 'bundler' : resolution === 'node20' ? 'node16' : resolution,
      esModuleInterop: true,
      skipLibCheck: true,
    }
    writeFileSync(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }))
    const compiled = run(join(root, 'node_modules/.bin/tsc'), ['-p', at]).then(
      () => 'compiles',
      (error) => error.stdout as string,
    )
    expect(await compiled).toBe('compiles')
  })
})
