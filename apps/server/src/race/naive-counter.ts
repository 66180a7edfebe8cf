/** A counter that is read first and written later. */
export interface NaiveCounter {
  /** The pause between read and write; 0 if the network already delays them. */
  readonly pauseMs: number
  read(id: string): Promise<number>
  write(id: string, count: number): Promise<void>
  delete(id: string): Promise<void>
}

/** Without a pause, nothing could run between the two steps of one process. */
const PAUSE_MS = 5

export function memoryNaiveCounter(): NaiveCounter {
  const counts = new Map<string, number>()
  return {
    pauseMs: PAUSE_MS,
    read: async (id) => counts.get(id) ?? 0,
    async write(id, count) {
      counts.set(id, count)
    },
    async delete(id) {
      counts.delete(id)
    },
  }
}

/** The count expires soon, in case it is not deleted. */
const EXPIRES_MS = 60_000

export interface RedisCommands {
  readonly prefix: string
  send(key: string, command: string, args: string[]): Promise<unknown>
}

export function redisNaiveCounter({ prefix, send }: RedisCommands): NaiveCounter {
  const keyOf = (id: string) => `${prefix}:tidegate-race-naive:${id}`
  return {
    pauseMs: 0,
    async read(id) {
      return Number((await send(keyOf(id), 'GET', [keyOf(id)])) ?? 0)
    },
    async write(id, count) {
      await send(keyOf(id), 'SET', [keyOf(id), String(count), 'PX', String(EXPIRES_MS)])
    },
    async delete(id) {
      await send(keyOf(id), 'UNLINK', [keyOf(id)])
    },
  }
}
