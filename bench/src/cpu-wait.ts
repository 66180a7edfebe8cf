/**
 * Tells for how many milliseconds, in all, this process did not run: it waited for a processor, of this machine or of the
 * one that this machine is a part of. A busy one stops everybody for 4 ms and more at a time. What its helper threads do
 * counts as running, so that it is never too much.
 */
export function cpuWaitMs(): number {
  const { user, system } = process.cpuUsage()
  return performance.now() - (user + system) / 1000
}
