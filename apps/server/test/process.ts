import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '@tidegate/fixtures/until'

const COMMAND = fileURLToPath(new URL('../bin/tidegate.mjs', import.meta.url))

/** `tidegate start` as a process of its own. */
export interface ServerProcess {
  readonly url: string
  /** The header with the admin token that it has generated. */
  readonly admin: { readonly authorization: string }
  readonly process: ChildProcess
  /** The lines of its log so far. */
  logged(): Record<string, unknown>[]
  /** What it ended with, once it has. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  stop(): Promise<void>
}

export async function startProcess(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [COMMAND, 'start', '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => {
    out += data
  })
  child.stderr.on('data', (data) => {
    err += data
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const logged = () =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  const url = () => /serves on (http:\S+?)"/.exec(out)?.[1]
  const isServing = () => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${out}${err}`)
    return url() !== undefined
  }
  await until('the service to serve', isServing, { timeoutMs: 30_000 }).catch((error) => {
    child.kill('SIGKILL')
    throw error
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  const token = () => /"adminToken":"([^"]+)"/.exec(out)?.[1] ?? env.TIDEGATE_ADMIN_TOKEN ?? ''
  return {
    url: url()!,
    get admin() {
      return { authorization: `Bearer ${token()}` }
    },
    process: child,
    logged,
    ended,
    stop,
  }
}

/** What a command that does not go on says and ends with. */
export async function runCommand(args: readonly string[]): Promise<{ code: number | null; says: string }> {
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let says = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => {
      says += data
    })
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, says }
}

/** The processes that a process has started. */
export function childrenOf({ pid }: ChildProcess): number[] {
  try {
    const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return list.trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** A configuration file in a folder of its own. */
export function configFile(yaml: string): { path: string; write(yaml: string): void; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-config-'))
  const path = join(folder, 'tidegate.yaml')
  const write = (text: string) => writeFileSync(path, text)
  write(yaml)
  return { path, write, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
