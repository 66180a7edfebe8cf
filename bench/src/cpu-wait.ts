import { openSync, readSync } from 'node:fs'

/**
 * Tells for how many milliseconds, in all, this thread was ready to run and waited for a processor. A busy
 * machine stops everybody for 4 ms and more at a time, and the engine's own helper threads stop the main one
 * where processors are few. Only Linux tells; elsewhere it is 0.
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
