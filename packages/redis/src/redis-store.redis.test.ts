import { deepStrictEqual } from 'node:assert'
import { testStore } from '@tidegate/core/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type RedisServer, startRedis } from '../test/redis-server.js'
import { RedisStore, type RedisStoreOptions } from './redis-store.js'
import { TIME_DOOR } from './time-door.js'

let server: RedisServer
let number = 0

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

testStore({
  describe,
  it,
  deepEqual: deepStrictEqual,
  open: (clock) => {
    const options = { prefix: `test-${number++}`, [TIME_DOOR]: clock }
    return new RedisStore(server.url, options as RedisStoreOptions)
  },
})
