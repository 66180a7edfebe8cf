/** A count as one would keep it who reads first and writes later. */
export interface NaiveCounter {
  /** How long it waits between the two on purpose; 0: the network is wait enough. */
  readonly pauseMs: number
  read(id: string): Promise<number>
  write(id: string, count: number): Promise<void>
  forget(id: string): Promise<void>
}

/** Within one process nothing comes between two steps by itself. */
const PAUSE_MS = 5

export function inMemory(): NaiveCounter {
  const counts = new Map<string, number>()
  return {
    pauseMs: PAUSE_MS,
    read: async (id) => counts.get(id) ?? 0,
    async write(id, count) {
      counts.set(id, count)
    },
    async forget(id) {
      counts.delete(id)
    },
  }
}

/** Gone by itself soon, should nobody forget it. */
const EXPIRES_MS = 60_000

export interface Commands {
  readonly prefix: string
  send(key: string, command: string, args: string[]): Promise<unknown>
}

export function inRedis({ prefix, send }: Commands): NaiveCounter {
  const keyOf = (id: string) => `${prefix}:tidegate-race-naive:${id}`
  return {
    pauseMs: 0,
    async read(id) {
      return Number((await send(keyOf(id), 'GET', [keyOf(id)])) ?? 0)
    },
    async write(id, count) {
      await send(keyOf(id), 'SET', [keyOf(id), String(count), 'PX', String(EXPIRES_MS)])
    },
    async forget(id) {
      await send(keyOf(id), 'UNLINK', [keyOf(id)])
    },
  }
}
