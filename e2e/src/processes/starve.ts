import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createCpuGroup } from './cpu-group.js'

/** A process that gets only a share of a core. */
export interface Starvation {
  /** `CFS quota of 100m` or `SIGSTOP and SIGCONT, 10 of 100 ms`. */
  readonly method: string
  /** How often the process was stopped so far. */
  stops(): number
  /** Cleans up, after the process has ended. */
  end(): Promise<void>
}

const PROGRAM = fileURLToPath(new URL('./pause-process.mjs', import.meta.url))
const PERIOD_US = 100_000
const QUOTA_US = 10_000

/** Gives a process 10 ms of every 100 ms, as Kubernetes does with `limits.cpu: 100m`. */
export async function starve({ pid }: ChildProcess): Promise<Starvation> {
  if (pid === undefined) throw new Error('The process to starve is not running.')
  return limitByQuota(pid) ?? limitBySignals(pid)
}

function limitByQuota(pid: number): Starvation | undefined {
  const group = createCpuGroup(pid, { 'cpu.cfs_period_us': PERIOD_US, 'cpu.cfs_quota_us': QUOTA_US })
  return (
    group && {
      method: 'CFS quota of 100m',
      stops: () => Number(/nr_throttled (\d+)/.exec(group.read('cpu.stat'))?.[1]),
      end: () => group.remove(),
    }
  )
}

async function limitBySignals(pid: number): Promise<Starvation> {
  const child = fork(PROGRAM, [String(pid), String(QUOTA_US / 1000), String(PERIOD_US / 1000)])
  const exit = once(child, 'exit')
  let stops = 0
  child.on('message', () => stops++)
  await once(child, 'message')
  return {
    method: 'SIGSTOP and SIGCONT, 10 of 100 ms',
    stops: () => stops,
    async end() {
      child.disconnect()
      await exit
    },
  }
}
