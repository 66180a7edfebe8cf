import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

/** A Redis of the benchmark's own: one server, or the nodes of a cluster. */
export interface RunningRedis {
  url: string
  stop(): Promise<void>
}

/** One server on a free port of this machine, which keeps nothing on disk. */
export async function startRedis(args: readonly string[] = []): Promise<RunningRedis & { port: number }> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bench-'))
  const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const server = spawn('redis-server', ['--save', '', '--appendonly', 'no', ...address, ...args], {
    stdio: 'ignore',
  })
  running.add(server)
  const ended = new Promise<string>((resolve) => {
    server.once('error', (error) => resolve(error.message))
    server.once('exit', (code) => resolve(`it ended with code ${code}`))
  }).finally(() => {
    running.delete(server)
    rmSync(folder, { recursive: true, force: true })
  })
  const client = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null, retryStrategy: () => 50 })
  client.on('error', () => {})
  const failure = await Promise.race([ended, client.ping().then(() => undefined)])
  client.disconnect()
  if (failure !== undefined) throw new Error(`redis-server did not start: ${failure}.`)
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      server.kill('SIGKILL')
      await ended
    },
  }
}

export function redisVersion(): string {
  const { stdout, error } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  if (error) throw new Error('The benchmark starts redis-server: install it first.', { cause: error })
  return /v=(\S+)/.exec(stdout)?.[1] ?? 'unknown'
}

/** Whatever ends the benchmark, its servers end with it. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const server of running) server.kill('SIGKILL')
})

/** A port that nobody listens on; low enough that a cluster node's bus, 10,000 above, is one too. */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port
  }
  throw new Error('Found no free port in 100 attempts.')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
