import type { Redis } from 'ioredis'

/** What a server has counted of one command. */
export interface CommandStats {
  calls: number
  /** Time of all its calls, in microseconds; of a script, with all that it called. */
  us: number
  failed: number
}

const NONE: CommandStats = { calls: 0, us: 0, failed: 0 }

/** Counts the commands that a server runs while `work` is done, those inside of scripts too. */
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

/** For how long each script call held the server while `work` was done, in microseconds, by its slow log. */
export async function timeScripts(client: Redis, work: () => Promise<void>): Promise<number[]> {
  await client.config('SET', 'slowlog-max-len', '100000')
  await client.config('SET', 'slowlog-log-slower-than', '0')
  await client.slowlog('RESET')
  await work()
  const entries = (await client.slowlog('GET', -1)) as [number, number, us: number, command: string[]][]
  await client.config('SET', 'slowlog-log-slower-than', '-1')
  return entries.filter(([, , , command]) => command[0]?.toLowerCase() === 'evalsha').map(([, , us]) => us)
}
