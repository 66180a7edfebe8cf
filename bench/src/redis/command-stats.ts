import type { Redis } from 'ioredis'

/** Server statistics of one command. */
export interface CommandStats {
  calls: number
  /** Time of all calls, in microseconds. A script includes the commands that it calls. */
  us: number
  failed: number
}

const NONE: CommandStats = { calls: 0, us: 0, failed: 0 }

/** Counts the commands that a server runs during `work`, including commands within scripts. */
export async function countCommands(
  client: Redis,
  work: () => Promise<void>,
): Promise<(command: string) => CommandStats> {
  await client.config('RESETSTAT')
  await work()
  const info = await client.info('commandstats')
  const lines = info.matchAll(/cmdstat_(\S+?):calls=(\d+),usec=(\d+),.*failed_calls=(\d+)/g)
  const counted = new Map(
    [...lines].map(([, name, calls, us, failed]) => [
      name,
      { calls: Number(calls), us: Number(us), failed: Number(failed) },
    ]),
  )
  return (command) => counted.get(command) ?? NONE
}

/** The duration of each script call during `work`, in microseconds, from the slow log of the server. */
export async function timeScripts(client: Redis, work: () => Promise<void>): Promise<number[]> {
  await client.config('SET', 'slowlog-max-len', '100000')
  await client.config('SET', 'slowlog-log-slower-than', '0')
  await client.slowlog('RESET')
  await work()
  const entries = (await client.slowlog('GET', -1)) as [number, number, us: number, command: string[]][]
  await client.config('SET', 'slowlog-log-slower-than', '-1')
  return entries.filter(([, , , command]) => command[0]?.toLowerCase() === 'evalsha').map(([, , us]) => us)
}
