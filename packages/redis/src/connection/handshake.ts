import type { Redis } from 'ioredis'

/** How often a pending handshake is looked at before it is given up. */
const LOOKS = 4

/**
 * Calls `giveUp` if a connection is made but its handshake is not answered for about `timeoutMs`: no call is on
 * the wire yet that would time out. Replies that have arrived are read before each look, so a starved process does not give up a
 * healthy server.
 */
export function watchHandshake(client: Redis, timeoutMs: number, giveUp: () => void): void {
  let timer: NodeJS.Timeout | undefined
  let looks = 0

  function look(): void {
    if (timer === undefined || client.status === 'ready') return
    looks++
    if (looks > LOOKS) giveUp()
    else wait()
  }

  function wait(): void {
    timer = setTimeout(() => setImmediate(look), timeoutMs / LOOKS)
    timer.unref()
  }

  function stop(): void {
    clearTimeout(timer)
    timer = undefined
  }

  client.on('connect', () => {
    stop()
    looks = 0
    wait()
  })
  client.on('ready', stop)
  client.on('close', stop)
}
