import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Certificate } from './redis-tls.js'

/** A Redis process of the test's own, on a free port, with a folder of its own. */
export interface RedisServer {
  port: number
  url: string
  process: ChildProcess
  stop(): Promise<void>
}

export function startRedis(args: string[] = [], port?: number): Promise<RedisServer> {
  return startServer(() => ['--save', '', '--appendonly', 'no', ...args], port)
}

/** A redis-server with these arguments. If another process takes the free port first, with another port. */
export async function startServer(
  argsOf: (folder: string) => string[],
  port?: number,
  tls?: Certificate,
): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(port ?? (await freePort()), argsOf, tls)
    } catch (error) {
      if (port !== undefined || attempt === 5) throw error
    }
  }
}

async function startOn(
  port: number,
  argsOf: (folder: string) => string[],
  tls: Certificate | undefined,
): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-redis-'))
  const listen = tls?.argsOf(port) ?? ['--port', String(port)]
  const address = [...listen, '--bind', '127.0.0.1', '--dir', folder]
  const child = spawn('redis-server', [...argsOf(folder), ...address], { stdio: 'ignore' })
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })
  const stop = () =>
    new Promise<void>((resolve) => {
      const gone = () => {
        rmSync(folder, { recursive: true, force: true })
        resolve()
      }
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return gone()
      child.once('exit', gone)
      child.kill('SIGKILL')
    })
  try {
    await answering(port, child, () => failure, tls)
  } catch (error) {
    await stop()
    throw error
  }
  return { port, url: `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`, process: child, stop }
}

/** A port that nobody listens on; low enough that a cluster node's bus, 10,000 above, is one too. */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 25_000)
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port
  }
  throw new Error('found no free port in 100 attempts')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** Waits until this very process answers on the port, and not another that was faster. */
async function answering(
  port: number,
  child: ChildProcess,
  failure: () => Error | undefined,
  tls: Certificate | undefined,
): Promise<void> {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
    ...(tls ? { tls: { ca: tls.ca } } : {}),
    retryStrategy: () => 30,
    maxRetriesPerRequest: null,
  })
  client.on('error', () => {})
  try {
    for (let attempt = 0; attempt < 300; attempt++) {
      const failed = failure()
      if (failed) throw failed
      if (child.exitCode !== null)
        throw new Error(`redis-server on port ${port} ended with ${child.exitCode}`)
      const info = await Promise.race([
        client.info('server').catch(() => ''),
        new Promise<string>((resolve) => setTimeout(() => resolve(''), 100)),
      ])
      if (info.includes(`process_id:${child.pid}\r`)) return
    }
    throw new Error(`redis-server on port ${port} did not answer`)
  } finally {
    client.disconnect()
  }
}

/** Waits until `isSo` is true, asking again and again, and says what it waited for if it never is. */
export async function until(what: string, isSo: () => Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`waited ${timeoutMs} ms for ${what}`)
}

export async function isPrimary(server: { port: number }): Promise<boolean> {
  const client = clientOf(server)
  try {
    return (await client.info('replication')).includes('role:master')
  } finally {
    client.disconnect()
  }
}

/** A client for the test's own commands to one server. */
export function clientOf(server: { port: number }): Redis {
  const client = new Redis({ port: server.port, host: '127.0.0.1', maxRetriesPerRequest: 1 })
  client.on('error', () => {})
  return client
}

/** Starts several things at once; if one does not start, stops the ones that did. */
export async function startAll<T extends { stop(): Promise<void> }>(starts: Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(starts)
  const failed = results.find((result) => result.status === 'rejected')
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (failed === undefined) return started
  await Promise.all(started.map((one) => one.stop()))
  throw failed.reason
}
