import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@tidegate/fixtures/until'

const COMMAND = createRequire(import.meta.url).resolve('tidegate/bin/tidegate.mjs')

/** `tidegate start` as a process of its own, on a free port. */
export interface ServiceProcess {
  readonly url: string
  readonly process: ChildProcess
  /** What it ended with, once it has. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** What it logged of its store, in order: `error` when it was lost, `info` when it was back. */
  storeLevels(): string[]
  stop(): Promise<void>
}

export async function startService(yaml: string): Promise<ServiceProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-e2e-'))
  const file = join(folder, 'tidegate.yaml')
  writeFileSync(file, yaml)
  const child = spawn(process.execPath, [COMMAND, 'start', '--port', '0', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => {
    out += data
  })
  child.stderr.on('data', (data) => {
    err += data
  })
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  async function stop(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const url = () => /serves on (http:\S+?)"/.exec(out)?.[1]
  try {
    await until('the service to serve', () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${out}${err}`)
      return url() !== undefined
    })
  } catch (error) {
    await stop()
    throw error
  }
  const storeLevels = () =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { level: string; msg: string })
      .filter(({ msg }) => msg.startsWith('The store '))
      .map(({ level }) => level)
  return { url: url()!, process: child, storeLevels, ended, stop }
}
