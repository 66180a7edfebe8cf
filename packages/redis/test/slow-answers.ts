import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'

/** A relay between a client and its Redis: requests pass at once, replies when the test releases them. */
export interface SlowAnswers {
  url: string
  /** How many calls of the script have passed. */
  calls(): number
  /** Replies wait from now on. */
  hold(): void
  /** Replies wait from the first call of the script on: a connection can still be made. */
  holdCalls(): void
  /** Held replies pass, and so do later ones. */
  release(): void
  stop(): Promise<void>
}

export async function slowAnswers(redisPort: number): Promise<SlowAnswers> {
  const sockets = new Set<Socket>()
  const waiting: (() => void)[] = []
  let isHeld = false
  let isHeldFromCall = false
  let asked = ''
  const calls = () => asked.match(/\r\neval(sha)?\r\n/g)?.length ?? 0
  const relay = createServer((client) => {
    const redis = createConnection(redisPort, '127.0.0.1')
    for (const socket of [client, redis]) sockets.add(socket.setNoDelay().on('error', () => {}))
    client.on('data', (bytes) => {
      asked += bytes.toString('latin1')
      if (isHeldFromCall && calls() > 0) isHeld = true
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
    calls,
    hold() {
      isHeld = true
    },
    holdCalls() {
      isHeldFromCall = true
    },
    release() {
      isHeld = isHeldFromCall = false
      for (const pass of waiting.splice(0)) pass()
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => relay.close(() => resolve()))
    },
  }
}
