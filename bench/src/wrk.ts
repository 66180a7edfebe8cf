import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { LOAD_CORE, onCore } from './one-core.js'

/** What wrk is to do: one of the scripts in `lua`, with arguments of its own. */
export interface WrkLoad {
  script: string
  args: readonly string[]
  connections: number
}

/** What wrk has seen. */
export interface Loaded {
  requests: number
  seconds: number
  p50Us: number
  p99Us: number
}

/**
 * Loads a server for so long. wrk is written in C: it takes so little of its core that the server is what is measured.
 */
export async function loadWithWrk(url: string, load: WrkLoad, seconds: number): Promise<Loaded> {
  const { script, args: forScript, connections } = load
  const options = ['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`]
  const { command, args } = onCore(LOAD_CORE, 'wrk', [
    ...options,
    '--script',
    fileURLToPath(new URL(`../lua/${script}`, import.meta.url)),
    url,
    '--',
    ...forScript,
  ])
  const { stdout } = await promisify(execFile)(command, args)
  const said = /^figures (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)$/m.exec(stdout)
  if (said === null) throw new Error(`wrk said: ${stdout}`)
  const [requests, us, p50Us, p99Us, badStatus, lost] = said.slice(1).map(Number)
  if (badStatus! > 0 || lost! > 0) {
    throw new Error(`${badStatus} answers were no 200, and ${lost} connections failed.`)
  }
  return { requests: requests!, seconds: us! / 1e6, p50Us: p50Us!, p99Us: p99Us! }
}

export function wrkVersion(): string {
  const { stdout, error } = spawnSync('wrk', ['--version'], { encoding: 'utf8' })
  if (error) throw new Error('The benchmark loads the service with wrk: install it first.', { cause: error })
  return /(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? 'unknown'
}
