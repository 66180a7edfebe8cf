import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fixedWindow } from '@tidegate/core'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type RedisServer, startServer, until } from '../test/redis-server.js'
import { type Certificate, makeCertificate } from '../test/redis-tls.js'
import type { ConnectOptions } from './connect.js'
import { RedisStore } from './redis-store.js'

// Servers that speak TLS and nothing else: whoever sends them plain text, and perhaps a password in it, hears nothing.

const policy = fixedWindow({ name: 'tls', limit: 2, window: '1h' })
const plain = ['--save', '', '--appendonly', 'no']
let certificate: Certificate
let stores: RedisStore[] = []
let servers: RedisServer[] = []
beforeAll(() => {
  certificate = makeCertificate()
})
afterEach(async () => {
  for (const store of stores) await store.close()
  for (const server of servers) await server.stop()
  stores = []
  servers = []
})
afterAll(() => certificate?.remove())

async function start(argsOf: (folder: string) => string[]): Promise<RedisServer> {
  const server = await startServer(argsOf, undefined, certificate)
  servers.push(server)
  return server
}

function open(url: string, options: ConnectOptions): RedisStore {
  const store = new RedisStore(url, options)
  stores.push(store)
  return store
}

async function twoOfThree(store: RedisStore): Promise<boolean[]> {
  const allowed: boolean[] = []
  for (let i = 0; i < 3; i++) allowed.push((await store.check({ policy, key: 'k', cost: 1 })).allowed)
  return allowed
}

/** For the test's own commands. */
async function asked<T>(server: RedisServer, ask: (client: Redis) => Promise<T>): Promise<T> {
  const { port } = server
  const client = new Redis({ port, host: '127.0.0.1', tls: { ca: certificate.ca } })
  client.on('error', () => {})
  try {
    return await ask(client)
  } finally {
    client.disconnect()
  }
}

it('one server: rediss://, with its certificate', async () => {
  const server = await start(() => plain)
  // Only now: without one it can be asked whether it is there.
  await asked(server, (client) => client.config('SET', 'requirepass', 'secret'))
  const store = open(server.url, { tls: { ca: certificate.ca }, password: 'secret' })
  expect(await twoOfThree(store)).toStrictEqual([true, true, false])
})

it('a certificate that nobody has vouched for is refused', async () => {
  const server = await start(() => plain)
  const check = open(server.url, {}).check({ policy, key: 'k', cost: 1 })
  await expect(check).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/self-signed certificate/),
  })
})

it('Sentinel: with TLS to the sentinels too, and not only to the primary', async () => {
  const primary = await start(() => plain)
  const sentinel = await start((folder) => {
    const file = join(folder, 'sentinel.conf')
    writeFileSync(file, `sentinel monitor main 127.0.0.1 ${primary.port} 1\n`)
    return [file, '--sentinel']
  })
  await until('the sentinel to know the primary', () =>
    asked(sentinel, async (client) => (await client.info('sentinel')).includes('status=ok')),
  )
  const store = open(`redis+sentinel://127.0.0.1:${sentinel.port}/main`, { tls: { ca: certificate.ca } })
  expect(await twoOfThree(store)).toStrictEqual([true, true, false])
})

it('Cluster: with TLS to every node', async () => {
  const node = await start(() => [...plain, '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'])
  await asked(node, (client) => client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383))
  await until('the cluster to be well', () =>
    asked(node, async (client) => String(await client.cluster('INFO')).includes('cluster_state:ok')),
  )
  const store = open(`redis+cluster://127.0.0.1:${node.port}`, { tls: { ca: certificate.ca } })
  expect(await twoOfThree(store)).toStrictEqual([true, true, false])
})
