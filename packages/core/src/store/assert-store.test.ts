import { expect, it } from 'vitest'
import { withDenialCache } from '../denial-cache/index.js'
import { withLeases } from '../leases/index.js'
import { createLimiter } from '../limiter/index.js'
import { fixedWindow } from '../policy/index.js'
import { withFallback } from '../resilience/index.js'

const policy = fixedWindow({ limit: 5, window: '1m' })
const IMPORT = "import { RedisStore } from '@tidegate/redis'"

it.each<[string, unknown, string]>([
  ['a URL', 'redis://localhost:6379', `${IMPORT} and store: new RedisStore('redis://localhost:6379').`],
  ['a TLS URL', 'rediss://host/1', "store: new RedisStore('rediss://host/1')"],
  ['a cluster', 'redis+cluster://one,two', "store: new RedisStore('redis+cluster://one,two')"],
  ['a URL with a password', 'redis://user:secret@host', "new RedisStore('redis://…@host')"],
  ['a password with @ and /', 'redis://user:sec@secret/secret@host', "new RedisStore('redis://…@host')"],
  ['a URL without slashes', 'redis:user:secret@host', "new RedisStore('redis:…@host')"],
  ['options with a password', { host: 'a', password: 'secret' }, 'got an object with host, password. Write'],
  ['a limiter', createLimiter({ policy }), 'got a limiter. Write store: limiter.store.'],
  [
    'a store of express-rate-limit',
    { increment() {} },
    `${IMPORT} and store: new RedisStore('redis://localhost:6379'), or store: new MemoryStore() to count in this process only.`,
  ],
  ['a client of ioredis', { evalsha() {} }, `${IMPORT} and store: new RedisStore(client).`],
  ['a client of node-redis', { evalSha() {} }, 'store: new RedisStore(client).'],
  ['an object', { get() {} }, 'got an object with get. Write store: new MemoryStore(), or leave it out.'],
  ['a number', 5, 'got 5.'],
])('%s as store is an error with the line to write', (_, store, line) => {
  const create = () => createLimiter({ policy, store: store as never })
  expect(create).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', field: 'store' }))
  expect(create).toThrow(line)
  expect(create).not.toThrow('secret')
})

it.each([
  ['withFallback', withFallback],
  ['withDenialCache', withDenialCache],
  ['withLeases', withLeases],
] as const)('%s has the same advice, and never shows a password', (name, wrap) => {
  const wrapUrl = () => wrap('redis://user:secret@host' as never)
  expect(wrapUrl).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', field: 'store' }))
  expect(wrapUrl).toThrow(`${name}(new RedisStore('redis://…@host')).`)
  expect(wrapUrl).not.toThrow('secret')
  expect(() => wrap({} as never)).toThrow(
    `got an object without properties. Write ${name}(new MemoryStore()).`,
  )
})

it('a policy function without options reports example options', () => {
  expect(() => fixedWindow(undefined as never)).toThrow("for example { limit: 100, window: '1m' }.")
})
