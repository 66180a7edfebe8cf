import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pause } from '@tidegate/fixtures/until'

/** A process that gets only a share of a core. */
export interface Starvation {
  /** `CFS quota of 100m` or `SIGSTOP and SIGCONT, 10 of 100 ms`. */
  readonly method: string
  /** How often the process was stopped so far. */
  stops(): number
  /** Cleans up, after the process has ended. */
  end(): Promise<void>
}

const CPU_GROUPS = '/sys/fs/cgroup/cpu'
const PROGRAM = fileURLToPath(new URL('./pause-process.mjs', import.meta.url))
const PERIOD_US = 100_000
const QUOTA_US = 10_000
let groups = 0

/** Gives a process 10 ms of every 100 ms, as Kubernetes does with `limits.cpu: 100m`. */
export async function starve({ pid }: ChildProcess): Promise<Starvation> {
  if (pid === undefined) throw new Error('The process to starve is not running.')
  return limitByQuota(pid) ?? limitBySignals(pid)
}

/** Undefined where the CPU controller of cgroup v1 is not mounted or not writable. */
function limitByQuota(pid: number): Starvation | undefined {
  const group = `${CPU_GROUPS}/tidegate-e2e-${process.pid}-${groups++}`
  try {
    mkdirSync(group)
  } catch {
    return undefined
  }
  async function end(): Promise<void> {
    // A group can be removed a moment after its last process has ended.
    for (let attempt = 0; attempt < 100; attempt++) {
      try {
        return rmdirSync(group)
      } catch {
        await pause(20)
      }
    }
    throw new Error(`${group} could not be removed`)
  }
  try {
    writeFileSync(`${group}/cpu.cfs_period_us`, String(PERIOD_US))
    writeFileSync(`${group}/cpu.cfs_quota_us`, String(QUOTA_US))
    writeFileSync(`${group}/cgroup.procs`, String(pid))
  } catch {
    rmdirSync(group)
    return undefined
  }
  return {
    method: 'CFS quota of 100m',
    stops: () => Number(/nr_throttled (\d+)/.exec(readFileSync(`${group}/cpu.stat`, 'utf8'))?.[1]),
    end,
  }
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
