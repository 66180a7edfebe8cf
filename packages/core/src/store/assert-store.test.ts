import { expect, it } from 'vitest'
import { createLimiter } from '../limiter/index.js'
import { fixedWindow } from '../policy/index.js'

const policy = fixedWindow({ limit: 5, window: '1m' })
const IMPORT = "import { RedisStore } from '@tidegate/redis'"

it.each<[string, unknown, string]>([
  ['a URL', 'redis://localhost:6379', `${IMPORT} and store: new RedisStore('redis://localhost:6379').`],
  ['a TLS URL', 'rediss://host/1', "store: new RedisStore('rediss://host/1')"],
  ['a cluster', 'redis+cluster://one,two', "store: new RedisStore('redis+cluster://one,two')"],
  ['a URL with a password', 'redis://user:secret@host', "new RedisStore('redis://…@host')"],
  [
    'a store of express-rate-limit',
    { increment() {} },
    `${IMPORT} and store: new RedisStore('redis://localhost:6379'), or store: new MemoryStore() to count in this process only.`,
  ],
  ['a client of ioredis', { evalsha() {} }, `${IMPORT} and store: new RedisStore(client).`],
  ['a client of node-redis', { evalSha() {} }, 'store: new RedisStore(client).'],
  ['an object', { get() {} }, 'got {"get":[function get]}. Write store: new MemoryStore(), or leave it out.'],
  ['a number', 5, 'got 5.'],
])('%s as store is an error with the line to write', (_, store, line) => {
  const create = () => createLimiter({ policy, store: store as never })
  expect(create).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', field: 'store' }))
  expect(create).toThrow(line)
  expect(create).not.toThrow('secret')
})

it('a policy function without options reports example options', () => {
  expect(() => fixedWindow(undefined as never)).toThrow("for example { limit: 100, window: '1m' }.")
})
