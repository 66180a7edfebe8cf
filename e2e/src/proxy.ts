import { connect, createServer, type Socket } from 'node:net'
import { pause } from '@tidegate/fixtures/until'
import { nowMs } from './wall-clock.js'

/**
 * The fault of a connection to Redis: replies that arrive late, a distance that delays both directions, every fifth chunk
 * of the replies lost, or all replies lost.
 */
export type Trouble =
  | { readonly delayMs: number }
  | { readonly eachWayMs: number }
  | 'pieces are lost'
  | 'all is lost'
  | 'none'

interface Late {
  readonly fromMs: number
  readonly toMs: number
}

/** A TCP proxy in front of Redis with faults on demand. */
export interface Detour {
  readonly url: string
  trouble: Trouble
  /** The times in which the proxy itself was late: this process got no processor. */
  readonly late: readonly Late[]
  /** Closes every connection through the proxy. */
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
    // Each chunk waits for the one before, so that the order stays when the fault ends.
    let sent = Promise.resolve()
    client.on('data', (data) => {
      const { trouble } = proxy
      if (typeof trouble === 'object' && 'eachWayMs' in trouble) {
        sent = writeAfter(delay(trouble.eachWayMs), sent, data, redis)
      } else redis.write(data)
    })
    let received = Promise.resolve()
    redis.on('data', (data) => {
      received = reply(data, client, received)
    })
  })

  const late: Late[] = []
  async function delay(ms: number): Promise<void> {
    const fromMs = nowMs()
    await pause(ms)
    const toMs = nowMs()
    if (toMs - fromMs > ms + LATE_MS) late.push({ fromMs, toMs })
  }

  let pieces = 0
  async function reply(data: Buffer, client: Socket, before: Promise<void>): Promise<void> {
    const { trouble } = proxy
    if (trouble === 'all is lost') return
    if (trouble === 'pieces are lost' && pieces++ % EVERY === 0) return
    await writeAfter(typeof trouble === 'object' ? delay(delayOf(trouble)) : undefined, before, data, client)
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as { port: number }
  const proxy: Detour = {
    url: `redis://127.0.0.1:${port}`,
    trouble: 'none',
    late,
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

function delayOf(trouble: Exclude<Trouble, string>): number {
  return 'eachWayMs' in trouble ? trouble.eachWayMs : trouble.delayMs
}

async function writeAfter(
  delayed: Promise<void> | undefined,
  before: Promise<void>,
  data: Buffer,
  to: Socket,
): Promise<void> {
  await delayed
  await before
  if (!to.destroyed) to.write(data)
}

/** A timer that is later than this was not merely rounded. */
const LATE_MS = 5
/** One of this many chunks is lost. */
const EVERY = 5
