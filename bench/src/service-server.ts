import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onCore, SERVER_CORE } from './one-core.js'

/** A server under load, in a process of its own. */
export interface ServerUnderLoad {
  url: string
  /** The time that it has spent on processors so far, in microseconds; undefined where the system does not tell. */
  cpuUs(): number | undefined
  stop(): Promise<void>
}

const TIDEGATE = fileURLToPath(new URL('../../apps/server/bin/tidegate.mjs', import.meta.url))
// The same from `src`, where tests run.
const BARE = fileURLToPath(new URL('../dist/service-bare-child.js', import.meta.url))
const CONFIG = fileURLToPath(new URL('../service.yaml', import.meta.url))

export function startTidegate(store: string): Promise<ServerUnderLoad> {
  return start([TIDEGATE, 'start', '--config', CONFIG, '--port', '0', '--store', store])
}

/** One route that answers with just this. */
export function startBare(answer: Answer): Promise<ServerUnderLoad> {
  return start([BARE, JSON.stringify(answer)])
}

/** What a server answers, without what every server of Node adds by itself. */
export interface Answer {
  headers: Readonly<Record<string, string>>
  body: unknown
}

async function start(args: readonly string[]): Promise<ServerUnderLoad> {
  const { command, args: all } = onCore(SERVER_CORE, process.execPath, args)
  const server = spawn(command, all, { stdio: ['ignore', 'pipe', 'inherit'] })
  running.add(server)
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  ended.then(() => running.delete(server))
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(server.stdout).on('line', (line) => {
      const said = /http:\/\/[\d.]+:\d+/.exec(line)
      if (said !== null) resolve(said[0])
    })
    ended.then(() => reject(new Error(`A server ended before it served: ${args.join(' ')}`)))
  })
  return {
    url,
    cpuUs: () => cpuUsOf(server.pid!),
    async stop() {
      server.kill('SIGTERM')
      await ended
    },
  }
}

/** User and system time, which Linux tells in hundredths of a second. */
function cpuUsOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number)
  return (user! + system!) * 10_000
}

/** Whatever ends the benchmark, its servers end with it. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const server of running) server.kill('SIGKILL')
})
