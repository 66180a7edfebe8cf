import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { pause } from '@tidegate/fixtures/until'

/** A control group of Linux that sets how much processor time a process gets. */
export interface CpuGroup {
  read(file: string): string
  /** Removes the group, once its processes have ended or left. */
  remove(): Promise<void>
}

/** The highest value of `cpu.shares`. A process with it runs before others on a busy machine. */
export const MOST_SHARES = 262_144

const ROOT = '/sys/fs/cgroup/cpu'
let groups = 0

/** Undefined where the CPU controller of cgroup v1 is not mounted or not writable. */
export function createCpuGroup(
  pid: number,
  settings: Readonly<Record<string, number>>,
): CpuGroup | undefined {
  const group = `${ROOT}/tidegate-e2e-${process.pid}-${groups++}`
  try {
    mkdirSync(group)
  } catch {
    return undefined
  }
  try {
    for (const [file, value] of Object.entries(settings)) writeFileSync(`${group}/${file}`, String(value))
    writeFileSync(`${group}/cgroup.procs`, String(pid))
  } catch {
    rmdirSync(group)
    return undefined
  }
  return {
    read: (file) => readFileSync(`${group}/${file}`, 'utf8'),
    async remove() {
      // A group can be removed a moment after its last process has ended.
      for (let attempt = 0; attempt < 100; attempt++) {
        try {
          return rmdirSync(group)
        } catch {
          await pause(20)
        }
      }
      throw new Error(`${group} could not be removed`)
    },
  }
}
