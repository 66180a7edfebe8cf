import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { concurrency, createLimiter, fixedWindow } from '@tidegate/core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { failingStore } from '../../test/stores.js'
import { RateLimit, RateLimitExceededError } from './decorator.js'

// The compiler of the tests leaves decorators as they are, and Node does not support them yet: tsc compiles these.

const root = fileURLToPath(new URL('../../../../', import.meta.url))
let folder = ''

beforeAll(async () => {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  folder = mkdtempSync(join(cache, 'decorated-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const [name, experimentalDecorators] of Object.entries({ standard: false, legacy: true })) {
    const config = {
      extends: join(root, 'tsconfig.base.json'),
      compilerOptions: {
        experimentalDecorators,
        composite: false,
        declaration: false,
        declarationMap: false,
        tsBuildInfoFile: null,
        rootDir: join(root, 'packages/http/test/decorated'),
        outDir: join(folder, name),
      },
      files: [join(root, 'packages/http/test/decorated/methods.ts')],
    }
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(config))
    const compiled = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [
      '-p',
      join(folder, `${name}.json`),
    ])
    await compiled.catch((error) => {
      throw new Error(`The methods do not compile:\n${error.stdout}`)
    })
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(['standard', 'legacy'])('a method with a %s decorator', (kind) => {
  type Methods = typeof import('../../test/decorated/methods.js')
  let methods: Methods
  beforeAll(async () => {
    methods = await import(pathToFileURL(join(folder, kind, 'methods.js')).href)
  })

  it('is called with its object and arguments until the limit, then throws with the decision', () => {
    const service = new methods.Service()
    expect(service.plain('one')).toBe('hello one')
    expect(service.plain('two')).toBe('hello two')
    expect(service.calls).toBe(2)
    let thrown: unknown
    try {
      service.plain('three')
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({
      name: 'RateLimitExceededError',
      code: 'RATE_LIMIT_EXCEEDED',
      status: 429,
      statusCode: 429,
      decision: { allowed: false, limit: 2, remaining: 0, cost: 1 },
      headers: { 'Retry-After': expect.stringMatching(/^\d+$/) },
    })
    expect(service.calls).toBe(2)
    expect(service.plain.name).toBe('plain')
    // One limit for all objects of the class, and another for another class.
    expect(() => new methods.Service().plain('four')).toThrow('Too many requests.')
    expect(new methods.Other().plain()).toBe('other')
  })

  it('that is async rejects, and counts each key separately', async () => {
    const service = new methods.Service()
    expect(await service.byUser({ id: 'alice' }, 1)).toBe('hello alice 1')
    await service.byUser({ id: 'alice' }, 2)
    const denied = service.byUser({ id: 'alice' }, 3)
    await expect(denied).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', decision: { limit: 2 } })
    expect(await service.byUser({ id: 'bob' }, 1)).toBe('hello bob 1')
  })

  it('takes a cost from its arguments', () => {
    const service = new methods.Service()
    expect(service.costly(2)).toBe(2)
    expect(() => service.costly(2)).toThrow('Too many requests.')
    expect(service.costly(1)).toBe(1)
    expect(() => service.costly(4)).toThrow(expect.objectContaining({ code: 'COST_ABOVE_LIMIT' }))
    const nothing = undefined as unknown as number
    expect(() => service.costly(nothing)).toThrow(expect.objectContaining({ code: 'COST_INVALID' }))
  })

  it('shares a limit with another of the same limiter, name and key', () => {
    const service = new methods.Service()
    expect(service.searchHere()).toBe('here')
    expect(() => service.searchThere()).toThrow('Too many requests.')
    expect(methods.searches.peek('search:shared').remaining).toBe(0)
  })

  it('calls the key function with its own object as this', () => {
    const service = new methods.Service()
    expect(service.byItself()).toBe('itself')
    expect(() => service.byItself()).toThrow('Too many requests.')
  })

  it('with a concurrency policy runs once at a time', async () => {
    const service = new methods.Service()
    let finish = (_: string) => {}
    const running = service.oneAtATime(
      new Promise((resolve) => {
        finish = resolve
      }),
    )
    await expect(service.oneAtATime(Promise.resolve('two'))).rejects.toMatchObject({
      status: 429,
      decision: { reason: 'slot' },
      headers: { 'Retry-After': '1' },
    })
    finish('one')
    expect(await running).toBe('one')
    await expect(service.oneAtATime(Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await service.oneAtATime(Promise.resolve('three'))).toBe('three')
  })

  it('with a concurrency policy can be synchronous', () => {
    const service = new methods.Service()
    const nested = () => service.synchronous(() => 'inner')
    expect(() => service.synchronous(nested)).toThrow('Too many requests.')
    expect(service.synchronous(() => 'one')).toBe('one')
  })

  it('can be static', () => {
    expect(methods.Service.ofTheClass()).toBe('static')
    expect(() => methods.Service.ofTheClass()).toThrow('Too many requests.')
  })

  it('returns a promise if the store is remote', async () => {
    const service = new methods.Service()
    expect(await service.elsewhere()).toBe('elsewhere')
    await expect(service.elsewhere()).rejects.toMatchObject({ status: 429 })
  })

  it('is not counted without a key, with one warning', () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const service = new methods.Service()
    for (let i = 0; i < 3; i++) expect(service.maybe(undefined)).toBe('anonymous')
    expect(service.maybe('alice')).toBe('alice')
    expect(() => service.maybe('alice')).toThrow('Too many requests.')
    expect(warned.mock.calls.map(([, options]) => options)).toStrictEqual([
      { type: 'TidegateWarning', code: 'TIDEGATE_KEY_UNDEFINED' },
    ])
    vi.restoreAllMocks()
  })
})

it('a closed policy throws with 503 while its store is unavailable', async () => {
  const policy = fixedWindow({ limit: 1, window: '1m', onStoreFailure: 'closed' })
  const limiter = createLimiter({ store: failingStore(), policy })
  const error = new RateLimitExceededError(await limiter.check('a'))
  expect(error).toMatchObject({ status: 503, decision: { degraded: 'closed' } })
  expect(error.message).toMatch(
    /^The rate limiter is temporarily unavailable\. Please retry after \d+ seconds?\.$/,
  )
})

it.each([
  ['options without a limit', {}, undefined],
  ['two limits', { limit: 1, window: '1m', policy: fixedWindow({ limit: 1, window: 1 }) }, undefined],
  ['a limit without a window', { limit: 1 }, 'window'],
  ['an invalid limiter', { limiter: {} }, 'limiter'],
  ['a template as key', { limit: 1, window: '1m', key: 'user:{ip}' }, 'key'],
  ['a key that is a number', { limit: 1, window: '1m', key: 5 }, 'key'],
  ['a cost above the limit', { limit: 1, window: '1m', cost: 2 }, 'cost'],
  ['an unknown option', { limit: 1, windowMs: 60_000 }, 'windowMs'],
])('rejects %s', (_, options, field) => {
  expect(() => RateLimit(options as never)).toThrow(expect.objectContaining({ name: 'TidegateError', field }))
})

it('rejects a concurrency policy for a generator method, which returns before it runs', () => {
  const generators = [function* list() {}, async function* stream() {}]
  for (const method of generators) {
    const decorate = (options: object) =>
      RateLimit(options)(method as () => unknown, { name: method.name } as never)
    expect(() => decorate({ policy: concurrency({ limit: 1 }) })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field: 'policy' }),
    )
    expect(() => decorate({ limit: 1, window: '1m' })).not.toThrow()
  }
})
