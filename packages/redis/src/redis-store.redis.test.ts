import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll } from 'vitest'
import { conforms } from '../test/conformance.js'
import { RedisStore } from './redis-store.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

conforms((options) => new RedisStore(server.url, options))
