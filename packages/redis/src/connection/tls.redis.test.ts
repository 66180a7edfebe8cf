import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fixedWindow } from '@tidegate/core'
import { type Certificate, makeCertificate } from '@tidegate/fixtures/certificate'
import { type RedisServer, startRedis, startServer } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { RedisStore } from '../redis-store.js'
import type { ConnectOptions } from './connect.js'

// Servers that speak TLS only: plain text, which may contain a password, gets no answer.

const policy = fixedWindow({ name: 'tls', limit: 2, window: '1h' })
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

async function keep(starting: Promise<RedisServer>): Promise<RedisServer> {
  const server = await starting
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

it('one server: rediss://, with its certificate', async () => {
  const server = await keep(startRedis([], { certificate }))
  await server.ask('CONFIG SET requirepass secret')
  const store = open(server.url, { tls: { ca: certificate.cert }, password: 'secret' })
  expect(await twoOfThree(store)).toStrictEqual([true, true, false])
})

it('an untrusted certificate is rejected', async () => {
  const server = await keep(startRedis([], { certificate }))
  const check = open(server.url, {}).check({ policy, key: 'k', cost: 1 })
  await expect(check).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/self-signed certificate/),
  })
})

it('Sentinel: with TLS to the sentinels too, and not only to the primary', async () => {
  const store = open(await sentinelUrl(), { tls: { ca: certificate.cert } })
  expect(await twoOfThree(store)).toStrictEqual([true, true, false])
})

it('Cluster: with TLS to every node', async () => {
  const store = open(await clusterUrl(), { tls: { ca: certificate.cert } })
  expect(await twoOfThree(store)).toStrictEqual([true, true, false])
})

it('Cluster: certificates for the names of hosts, and not for their addresses', async () => {
  const named = makeCertificate('DNS:localhost')
  const names = ['--cluster-announce-hostname', 'localhost', '--cluster-preferred-endpoint-type', 'hostname']
  const node = await clusterNode(named, ...names)
  const store = open(`redis+cluster://localhost:${node.port}`, { tls: { ca: named.cert } })
  expect(await twoOfThree(store)).toStrictEqual([true, true, false])
})

it.each([
  ['Sentinel', sentinelUrl],
  ['Cluster', clusterUrl],
])('%s: an untrusted certificate fails checks, and does not crash the process', async (_, urlOf) => {
  const program = `
    import { createLimiter, fixedWindow } from '@tidegate/core'
    import { RedisStore } from '@tidegate/redis'
    const store = new RedisStore('${await urlOf()}', { tls: {} })
    const limiter = createLimiter({ store, policy: fixedWindow({ limit: 5, window: '1h', name: 'tls' }) })
    for (let i = 0; i < 3; i++) console.log((await limiter.check('k')).degraded)
    await store.close()`
  const args = ['--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 })
  expect(stdout).toBe('open\nopen\nopen\n')
})

it('Cluster: the error has the reason why a certificate was rejected', async () => {
  const store = open(await clusterUrl(), { tls: {} })
  await expect(twoOfThree(store)).rejects.toThrow('self-signed certificate')
})

/** The URL of a sentinel that watches one server. */
async function sentinelUrl(): Promise<string> {
  const primary = await keep(startRedis([], { certificate }))
  const argsOf = (folder: string) => {
    const file = join(folder, 'sentinel.conf')
    writeFileSync(file, `sentinel monitor main 127.0.0.1 ${primary.port} 1\n`)
    return [file, '--sentinel']
  }
  const sentinel = await keep(startServer(argsOf, { certificate }))
  await until('the sentinel to know the primary', async () =>
    (await sentinel.ask('INFO sentinel')).includes('status=ok'),
  )
  return `redis+sentinel://127.0.0.1:${sentinel.port}/main`
}

async function clusterUrl(): Promise<string> {
  const node = await clusterNode(certificate, '--cluster-announce-ip', '127.0.0.1')
  return `redis+cluster://127.0.0.1:${node.port}`
}

/** A cluster of one. */
async function clusterNode(certificate: Certificate, ...args: string[]): Promise<RedisServer> {
  const node = await keep(startRedis(['--cluster-enabled', 'yes', ...args], { certificate }))
  await node.ask('CLUSTER ADDSLOTSRANGE 0 16383')
  await until('the cluster to be up', async () =>
    (await node.ask('CLUSTER INFO')).includes('cluster_state:ok'),
  )
  return node
}
