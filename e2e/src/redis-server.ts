import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.js'

/** A Redis process of the test's own, on a free port, with a folder of its own. It can be lost and started again. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  /** What a command answers, as Redis writes it. */
  ask(command: string): Promise<string>
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends it with SIGKILL. What it has on disk stays. */
  kill(): Promise<void>
  /** Starts it again on the same port, with other arguments besides; it answers when this is done. */
  restart(more?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/** If another process takes the free port first, with another port. */
export async function startRedis(args: readonly string[] = []): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePort(), args)
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}

async function startOn(port: number, more: readonly string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-e2e-'))
  const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const args = ['--save', '', '--appendonly', 'no', ...address, ...more]
  let child: ChildProcess

  async function start(again: readonly string[] = []): Promise<void> {
    const starting = spawn('redis-server', [...args, ...again], { stdio: 'ignore' })
    child = starting
    starting.once('error', () => {})
    await until(
      `redis-server on port ${port}`,
      async () => {
        if (isOver(starting)) throw new Error(`redis-server on port ${port} ended with ${starting.exitCode}`)
        const said = await ask('INFO server').catch(() => '')
        // Where it wants a password first, or still loads, it answers as well.
        return said.includes(`process_id:${starting.pid}\r`) || /^-(NOAUTH|LOADING)/.test(said)
      },
      { everyMs: 5 },
    )
  }

  async function kill(): Promise<void> {
    if (child.pid === undefined || isOver(child)) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  const ask = (command: string) => askRedis(port, command)
  async function stop(): Promise<void> {
    await kill()
    rmSync(folder, { recursive: true, force: true })
  }

  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    ask,
    signal: (signal) => void child.kill(signal),
    kill,
    restart: start,
    stop,
  }
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function askRedis(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\nQUIT\r\n`))
    let answer = ''
    socket.setTimeout(2000, () => socket.destroy(new Error('Redis is silent')))
    socket.on('data', (data) => {
      answer += data.toString()
    })
    socket.on('end', () => resolve(answer)).on('error', reject)
  })
}

/** A port that nobody listens on; low enough that a cluster node's bus, 10,000 above, is one too. */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 10_500 + Math.floor(Math.random() * 20_000)
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
