import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

/** A Redis process of the test's own, on a free port, with a folder of its own. */
export interface RedisServer {
  port: number
  url: string
  process: ChildProcess
  stop(): Promise<void>
}

export async function startRedis(args: string[] = [], port?: number): Promise<RedisServer> {
  const on = port ?? (await freePort())
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-redis-'))
  const child = spawn(
    'redis-server',
    [
      '--port',
      String(on),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      folder,
      ...args,
    ],
    { stdio: 'ignore' },
  )
  const stop = () =>
    new Promise<void>((resolve) => {
      const gone = () => {
        rmSync(folder, { recursive: true, force: true })
        resolve()
      }
      if (child.exitCode !== null || child.signalCode !== null) return gone()
      child.once('exit', gone)
      child.kill('SIGKILL')
    })
  await answering(on, child)
  return { port: on, url: `redis://127.0.0.1:${on}`, process: child, stop }
}

/** A port that nobody listens on; low enough that a cluster node's bus, 10,000 above, is one too. */
export async function freePort(): Promise<number> {
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

async function answering(port: number, child: ChildProcess): Promise<void> {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
    retryStrategy: () => 30,
    maxRetriesPerRequest: null,
  })
  client.on('error', () => {})
  try {
    for (let attempt = 0; attempt < 300; attempt++) {
      if (child.exitCode !== null)
        throw new Error(`redis-server on port ${port} ended with ${child.exitCode}`)
      const pong = await Promise.race([
        client.ping().catch(() => ''),
        new Promise((resolve) => setTimeout(resolve, 100)),
      ])
      if (pong === 'PONG') return
    }
    throw new Error(`redis-server on port ${port} did not answer`)
  } finally {
    client.disconnect()
  }
}
