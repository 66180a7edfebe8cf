import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { onCore } from './one-core.js'

/** A server under load, in a process of its own. */
export interface ServerUnderLoad {
  url: string
  /** The time that it has spent on processors so far, in microseconds; undefined where the system does not tell. */
  cpuUs(): number | undefined
  stop(): Promise<void>
}

export interface NodeOptions {
  env?: Readonly<Record<string, string>>
  /** What stands before its address where it says it. Default: nothing, the first address is it. */
  before?: string
}

/** Starts a program of Node on one core, which says where it listens. */
export async function startNode(
  core: number,
  args: readonly string[],
  { env = {}, before = '' }: NodeOptions = {},
): Promise<ServerUnderLoad> {
  const { server, ended } = run(core, process.execPath, args, env)
  const address = new RegExp(`${before}(http://[\\d.]+:\\d+)`)
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(server.stdout).on('line', (line) => {
      const said = address.exec(line)
      if (said !== null) resolve(said[1]!)
    })
    ended.then(() => reject(new Error(`A server ended before it served: ${args.join(' ')}`)))
  })
  return underLoad(url, server, ended)
}

/** Starts another program on one core, and waits until it answers at this address. */
export async function startProgram(
  core: number,
  { command, args, url }: { command: string; args: readonly string[]; url: string },
): Promise<ServerUnderLoad> {
  const { server, ended } = run(core, command, args)
  const deadline = Date.now() + PATIENCE_MS
  while (!(await isThere(url))) {
    if (server.exitCode !== null || Date.now() > deadline) throw new Error(`${command} does not serve.`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return underLoad(url, server, ended)
}

const PATIENCE_MS = 10_000

async function isThere(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  )
}

function run(
  core: number,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const { command, args: all } = onCore(core, program, args)
  const server = spawn(command, all, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  running.add(server)
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  ended.then(() => running.delete(server))
  return { server, ended }
}

function underLoad(url: string, server: ChildProcess, ended: Promise<void>): ServerUnderLoad {
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
