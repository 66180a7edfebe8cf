import { connect, createServer, type Socket } from 'node:net'
import { pause } from '@tidegate/fixtures/until'

/** What happens to what Redis answers: it comes, it comes later, pieces of it get lost, or nothing comes at all. */
export type Trouble = { readonly delayMs: number } | 'pieces are lost' | 'all is lost' | 'none'

/** A way to Redis that can be made bad. */
export interface Detour {
  readonly url: string
  trouble: Trouble
  /** Closes every connection that goes through it. */
  cut(): void
  stop(): Promise<void>
}

export async function startProxy(toPort: number): Promise<Detour> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const redis = connect(toPort, '127.0.0.1')
    for (const [one, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      sockets.add(one)
      one.setNoDelay(true)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
    client.on('data', (data) => redis.write(data))
    // One after the other: nothing is overtaken, also when the trouble ends.
    let before = Promise.resolve()
    redis.on('data', (data) => {
      before = passOn(data, client, before)
    })
  })

  let pieces = 0
  async function passOn(data: Buffer, client: Socket, before: Promise<void>): Promise<void> {
    const { trouble } = proxy
    if (trouble === 'all is lost') return
    if (trouble === 'pieces are lost' && pieces++ % EVERY === 0) return
    if (typeof trouble === 'object') await pause(trouble.delayMs)
    await before
    if (!client.destroyed) client.write(data)
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as { port: number }
  const proxy: Detour = {
    url: `redis://127.0.0.1:${port}`,
    trouble: 'none',
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      proxy.cut()
      await closed
    },
  }
  return proxy
}

/** Of so many pieces, one is lost. */
const EVERY = 5
