import { openSync, readSync } from 'node:fs'

/**
 * Tells for how many milliseconds, in all, this thread was ready to run and waited for a processor that
 * others had. A busy machine stops everybody for 4 ms and more at a time, which says nothing about a check.
 * Only Linux tells; elsewhere it is 0, and the waits stay in what is measured.
 */
export function openCpuWait(): () => number {
  if (process.platform !== 'linux') return () => 0
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  const buffer = Buffer.alloc(64)
  return () => {
    const [, waitedNs] = buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0)).split(' ')
    return Number(waitedNs) / 1e6
  }
}
