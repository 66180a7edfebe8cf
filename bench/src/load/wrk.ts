import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { benchFile } from '../report/paths.js'
import { LOAD_CORE, onCore } from './cpu-cores.js'

export interface WrkLoad {
  /** The arguments of `lua/requests.lua`. */
  args: readonly string[]
  connections: number
}

export interface WrkResult {
  requests: number
  seconds: number
  p50Us: number
  p99Us: number
}

/** Loads a server with wrk, which is written in C and leaves the server as the bottleneck. */
export async function loadWithWrk(url: string, load: WrkLoad, seconds: number): Promise<WrkResult> {
  const { args: scriptArgs, connections } = load
  const options = ['--threads', '1', '--connections', String(connections), '--duration', `${seconds}s`]
  const { command, args } = onCore(LOAD_CORE, 'wrk', [
    ...options,
    '--script',
    benchFile('lua/requests.lua'),
    url,
    '--',
    ...scriptArgs,
  ])
  const { stdout } = await promisify(execFile)(command, args)
  const figures = /^figures (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)$/m.exec(stdout)
  if (figures === null) throw new Error(`wrk printed no figures: ${stdout}`)
  const [requests, us, p50Us, p99Us, badStatus, failed] = figures.slice(1).map(Number)
  if (badStatus! > 0 || failed! > 0) {
    throw new Error(`wrk: ${badStatus} responses without status 2xx or 3xx, ${failed} connection errors.`)
  }
  return { requests: requests!, seconds: us! / 1e6, p50Us: p50Us!, p99Us: p99Us! }
}
