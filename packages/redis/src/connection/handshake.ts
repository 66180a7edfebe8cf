import type { Redis } from 'ioredis'

/** The number of checks before a pending handshake is given up. */
const MAX_CHECKS = 4

/**
 * Calls `giveUp` if the handshake of a new connection gets no reply for about `timeoutMs`, because there is no call yet that
 * would time out. Replies that have arrived are read before each check, so a starved process does not give up a healthy
 * server.
 */
export function watchHandshake(client: Redis, timeoutMs: number, giveUp: () => void): void {
  let timer: NodeJS.Timeout | undefined
  let checks = 0

  function checkStatus(): void {
    if (timer === undefined || client.status === 'ready') return
    checks++
    if (checks > MAX_CHECKS) giveUp()
    else wait()
  }

  function wait(): void {
    timer = setTimeout(() => setImmediate(checkStatus), timeoutMs / MAX_CHECKS)
    timer.unref()
  }

  function stop(): void {
    clearTimeout(timer)
    timer = undefined
  }

  client.on('connect', () => {
    stop()
    checks = 0
    wait()
  })
  client.on('ready', stop)
  client.on('close', stop)
}
