import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { until } from '@tidegate/fixtures/until'
import { onCore } from './cpu-cores.js'

/** A server in its own process. */
export interface ServerUnderLoad {
  url: string
  /** Processor time used so far, in microseconds; undefined where the system does not report it. */
  cpuUs(): number | undefined
  stop(): Promise<void>
}

export interface NodeOptions {
  env?: Readonly<Record<string, string>>
  /** The text before the address in the server's output. Default: '', the first address counts. */
  before?: string
}

/** Starts a Node program on one core. The program prints the address that it listens on. */
export async function startNode(
  core: number,
  args: readonly string[],
  { env = {}, before = '' }: NodeOptions = {},
): Promise<ServerUnderLoad> {
  const { server, ended } = run(core, process.execPath, args, env)
  const address = new RegExp(`${before}(http://[\\d.]+:\\d+)`)
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(server.stdout).on('line', (line) => {
      const found = address.exec(line)
      if (found !== null) resolve(found[1]!)
    })
    ended.then(() => reject(new Error(`Server exited before it listened: ${args.join(' ')}`)))
  })
  return underLoad(url, server, ended)
}

/** Starts another program on one core and waits until it responds at this address. */
export async function startProgram(
  core: number,
  { command, args, url }: { command: string; args: readonly string[]; url: string },
): Promise<ServerUnderLoad> {
  const { server, ended } = run(core, command, args)
  const exited = () => server.exitCode !== null
  await until(`${command} at ${url}`, async () => exited() || (await responds(url)))
  if (exited()) throw new Error(`${command} exited with code ${server.exitCode}.`)
  return underLoad(url, server, ended)
}

async function responds(url: string): Promise<boolean> {
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

/** User and system time, which Linux reports in hundredths of a second. */
function cpuUsOf(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number)
  return (user! + system!) * 10_000
}

/** Servers end with the benchmark, even if it fails. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const server of running) server.kill('SIGKILL')
})
