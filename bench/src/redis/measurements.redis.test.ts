import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { connectToServer } from './connect.js'
import { measureBytes } from './measure-bytes.js'
import { measureFullLog } from './measure-full-log.js'
import { measureLoad } from './measure-load.js'
import { LIBRARIES } from './redis-contenders.js'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
beforeEach(async () => {
  const client = await connectToServer(server.url)
  await client.flushall()
  client.disconnect()
})
afterAll(() => server?.stop())

it('measures the memory of a log with a timestamp for each unit', async () => {
  const { bytesPerUnit } = await measureBytes('sliding log', server.url)
  // A timestamp in microseconds alone takes 7 bytes.
  expect(bytesPerUnit).toBeGreaterThan(7)
})

it.each([
  ['steady', 1],
  ['denied', 0],
])('writes a full log that the store reads, %s', async (_, expiring) => {
  const log = { limit: 100, cost: 1, expiring, checks: 5, copies: 2 }
  const { serverUs, pushes } = await measureFullLog(server.url, log)
  expect(serverUs).toBeGreaterThan(0)
  expect(pushes).toBe(expiring)
})

const LOAD = {
  measure: 'load',
  title: '',
  contenders: [],
  keys: 10,
  inFlight: 4,
  checks: 20,
  turns: 2,
  comparedWith: LIBRARIES,
} as const

it('compares each turn with the faster library, and reports the time of a single server', async () => {
  const figures = await measureLoad('token bucket', server.url, { ...LOAD, topology: 'server' })
  expect(figures.serverUs).toBeGreaterThan(0)
  expect(figures.perSecondToBaseline).toBeGreaterThan(0)
})

it('reports no server time for a cluster', async () => {
  const clustered = await measureLoad('plain EVALSHA', server.url, { ...LOAD, topology: 'cluster' })
  expect(clustered).not.toHaveProperty('serverUs')
})
