import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A Redis process of the test's own, on a free port, with a folder of its own. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  readonly process: ChildProcess
  /** What a command answers, as Redis writes it. */
  ask(command: string): Promise<string>
  stop(): Promise<void>
}

export async function startRedis(port?: number): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(port ?? (await freePort()))
    } catch (error) {
      if (port !== undefined || attempt === 5) throw error
    }
  }
}

async function startOn(port: number): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-redis-'))
  const args = [
    '--save',
    '',
    '--appendonly',
    'no',
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
  ]
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => resolve()).once('error', () => resolve()),
  )
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const ask = (command: string) => askRedis(port, command)
  const isOurs = async () => (await ask('INFO server').catch(() => '')).includes(`process_id:${child.pid}\r`)
  try {
    await until(`redis-server on port ${port}`, async () => {
      if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`)
      return isOurs()
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { port, url: `redis://127.0.0.1:${port}`, process: child, ask, stop }
}

function askRedis(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\nQUIT\r\n`))
    let answer = ''
    socket.setTimeout(1000, () => socket.destroy(new Error('Redis is silent')))
    socket.on('data', (data) => {
      answer += data.toString()
    })
    socket.on('end', () => resolve(answer)).on('error', reject)
  })
}

/** A port that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

/** Waits until `isSo` is true, asking again and again, and says what it waited for if it never is. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`waited ${timeoutMs} ms for ${what}`)
}
