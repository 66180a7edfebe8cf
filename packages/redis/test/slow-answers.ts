import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'

/** Between a client and its Redis: what is asked passes at once, what is answered when the test says so. */
export interface SlowAnswers {
  url: string
  /** How many times the script was called so far. */
  calls(): number
  /** From now on answers wait. */
  hold(): void
  /** What waits passes, and so does all that follows. */
  release(): void
  stop(): Promise<void>
}

export async function slowAnswers(redisPort: number): Promise<SlowAnswers> {
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  let isHeld = false
  let asked = ''
  const relay = createServer((client) => {
    const redis = createConnection(redisPort, '127.0.0.1')
    for (const socket of [client, redis]) sockets.add(socket.setNoDelay().on('error', () => {}))
    client.on('data', (bytes) => {
      asked += bytes.toString('latin1')
      redis.write(bytes)
    })
    redis.on('data', (bytes) => {
      if (isHeld) waiting.push(() => client.write(bytes))
      else client.write(bytes)
    })
    client.on('close', () => redis.destroy())
    redis.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
  return {
    url: `redis://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    calls: () => asked.match(/\r\neval(sha)?\r\n/g)?.length ?? 0,
    hold() {
      isHeld = true
    },
    release() {
      isHeld = false
      for (const pass of waiting.splice(0)) pass()
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => relay.close(() => resolve()))
    },
  }
}
