import { createRequire } from 'node:module'
import * as esm from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import own from '../package.json' with { type: 'json' }
import { isCompatibleVersion } from './copies.js'
import { VERSION } from './version.js'

const cjs: typeof esm = createRequire(import.meta.url)('@tidegate/core')

it('VERSION is the version in package.json', () => {
  expect(VERSION).toBe(own.version)
})

describe('the ES module and the CommonJS build in one process', () => {
  it('are separate copies', () => {
    expect(cjs.createLimiter).not.toBe(esm.createLimiter)
  })

  it.each([
    ['ES module', esm, cjs],
    ['CommonJS', cjs, esm],
  ])('a policy and a store of the %s copy work with a limiter of the other', (_, from, to) => {
    const policy = from.fixedWindow({ limit: 2, window: '1h' })
    const limiter = to.createLimiter({ policy, store: new from.MemoryStore() })
    const allowed = [1, 2, 3].map(() => limiter.check('user:1').allowed)
    expect(allowed).toStrictEqual([true, true, false])
  })

  it('limiters of both copies count a store in one bucket', () => {
    const store = new esm.MemoryStore()
    const options = { limit: 3, window: '1h' as const, name: 'shared' }
    const first = esm.createLimiter({ policy: esm.fixedWindow(options), store })
    const second = cjs.createLimiter({ policy: cjs.fixedWindow(options), store })
    const allowed = [first, second, first, second].map((limiter) => limiter.check('user:1').allowed)
    expect(allowed).toStrictEqual([true, true, true, false])
  })

  it('limiters of both copies share the local count of a store that fails', async () => {
    const fail = async () => {
      throw new Error('down')
    }
    const store: esm.Store = { check: fail, take: fail, peek: fail, refund: fail, reset: fail, close() {} }
    const options = { limit: 2, window: '1h' as const, name: 'outage', onStoreFailure: 'local' as const }
    const first = esm.createLimiter({ policy: esm.fixedWindow(options), store })
    const second = cjs.createLimiter({ policy: cjs.fixedWindow(options), store })
    const allowed = []
    for (const limiter of [first, second, first, second]) allowed.push((await limiter.check('a')).allowed)
    expect(allowed).toStrictEqual([true, true, false, false])
  })

  it('errors of one copy are instances of the class of the other', () => {
    expect(() => cjs.fixedWindow({ limit: 0, window: '1m' })).toThrow(esm.TidegateError)
    expect(() => esm.fixedWindow({ limit: 0, window: '1m' })).toThrow(cjs.TidegateError)
    expect(new Error('other')).not.toBeInstanceOf(esm.TidegateError)
    class Special extends esm.TidegateError {}
    expect(new esm.TidegateError('KEY_INVALID', 'x')).not.toBeInstanceOf(Special)
    expect(new Special('KEY_INVALID', 'x')).toBeInstanceOf(Special)
    expect(new Special('KEY_INVALID', 'x')).toBeInstanceOf(cjs.TidegateError)
  })
})

describe('versions', () => {
  it.each([
    ['0.1.0', '0.1.0', true],
    ['0.1.0', '0.1.9', true],
    ['0.1.0', '0.2.0', false],
    ['0.0.1', '0.0.2', false],
    ['1.2.3', '1.9.0', true],
    ['1.2.3', '2.0.0', false],
    ['1.0.0-rc.1', '1.0.0', false],
    ['1.0.0-rc.1', '1.0.0-rc.1', true],
  ])('%s and %s: compatible is %s', (a, b, compatible) => {
    expect(isCompatibleVersion(a, b)).toBe(compatible)
    expect(isCompatibleVersion(b, a)).toBe(compatible)
  })

  it('a policy of an incompatible copy is rejected with both versions', () => {
    const policy = { algorithm: 'fixed-window', name: 'x', limit: 2, window: 60_000 }
    Object.defineProperty(policy, Symbol.for('@tidegate/core: policy made by'), { value: '9.0.0' })
    expect(() => esm.createLimiter({ policy: policy as never })).toThrow(
      `two copies of @tidegate/core: ${VERSION} received a policy made by 9.0.0`,
    )
  })

  it('rejects a spread copy of a policy, which lacks the derived numbers', () => {
    const policy = { ...esm.fixedWindow({ limit: 2, window: '1m' }) }
    expect(() => esm.createLimiter({ policy })).toThrow('policy must be made by a policy factory')
  })
})
