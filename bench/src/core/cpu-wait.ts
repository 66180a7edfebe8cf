/**
 * How long this process has not run so far, in milliseconds, because it waited for a core of this machine or of its host.
 * Time of helper threads counts as running, so the result is a lower bound.
 */
export function cpuWaitMs(): number {
  const { user, system } = process.cpuUsage()
  return performance.now() - (user + system) / 1000
}
