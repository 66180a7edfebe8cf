import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@tidegate/fixtures/until'

const COMMAND = createRequire(import.meta.url).resolve('tidegate/bin/tidegate.mjs')

/** Generous: a starved process starts slowly. */
const START_WITHIN_MS = 60_000

interface LogLine {
  readonly level: string
  readonly msg: string
  readonly err?: { readonly message: string }
}

/** A `tidegate start` process on a free port. */
export interface ServiceProcess {
  readonly url: string
  /** The URL of the gateway; undefined if the file configures none. */
  readonly gatewayUrl: string | undefined
  readonly process: ChildProcess
  /** Resolves with the exit code or signal when the process has ended. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** The log so far. */
  log(): LogLine[]
  /** The levels of the log lines about the store, in order: `error` for a lost store, `info` for a recovered one. */
  storeLevels(): string[]
  stop(): Promise<void>
}

export interface ServiceOptions {
  /** The core to pin the process to. Default: any core. */
  readonly core?: number
  /** Additional arguments for Node.js. Default: none. */
  readonly nodeArgs?: readonly string[]
  /** The port of the API. Default: a free port. */
  readonly port?: number
  /** Called as soon as the process exists. Default: nothing is called. */
  readonly onSpawn?: (child: ChildProcess) => Promise<void>
}

export async function startService(
  yaml: string,
  { core, nodeArgs = [], port = 0, onSpawn }: ServiceOptions = {},
): Promise<ServiceProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-e2e-'))
  const file = join(folder, 'tidegate.yaml')
  writeFileSync(file, yaml)
  const start = ['start', '--port', String(port), '--config', file]
  const command = [process.execPath, ...nodeArgs, COMMAND, ...start]
  // taskset replaces itself by the command, so the pid is that of the service.
  const [program = '', ...args] = core === undefined ? command : ['taskset', '-c', String(core), ...command]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH } })
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => {
    out += data
  })
  child.stderr.on('data', (data) => {
    err += data
  })
  let failure: Error | undefined
  child.once('error', (error) => {
    failure = error
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  async function stop(): Promise<void> {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    if (child.pid !== undefined) await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const log = () =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine)
  const urlOf = (what: RegExp) =>
    log().flatMap(({ msg }) => (what.test(msg) ? (/https?:\/\/\S+/.exec(msg)?.[0] ?? []) : []))[0]
  const url = () => urlOf(/^Tidegate .* on http/)
  try {
    await onSpawn?.(child)
    await until(
      'the service to listen',
      () => {
        if (failure !== undefined) throw failure
        if (child.exitCode !== null)
          throw new Error(`the service exited with ${child.exitCode}: ${out}${err}`)
        return url() !== undefined
      },
      { timeoutMs: START_WITHIN_MS },
    )
  } catch (error) {
    await stop()
    throw error
  }
  const storeLevels = () =>
    log()
      .filter(({ msg }) => /^(the )?store /i.test(msg))
      .map(({ level }) => level)
  const gatewayUrl = urlOf(/gateway .* on http/i)
  return { url: url()!, gatewayUrl, process: child, log, storeLevels, ended, stop }
}
