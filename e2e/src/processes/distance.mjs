// A TCP proxy that delays every chunk in both directions. Arguments: the port of Redis and the delay in milliseconds.
// Sends the port that it listens on, and after any message the times at which the proxy or Redis was late.
import { connect, createServer } from 'node:net'

const [toPort = 0, eachWayMs = 0] = process.argv.slice(2).map(Number)

/** @type {[fromMs: number, toMs: number][]} */
const late = []
const LATE_MS = 5
const nowMs = () => performance.timeOrigin + performance.now()

/** @param {() => void} send */
function later(send) {
  const dueMs = nowMs() + eachWayMs
  setTimeout(() => {
    if (nowMs() - dueMs > LATE_MS) late.push([dueMs - eachWayMs, nowMs()])
    send()
  }, eachWayMs)
}

const server = createServer((client) => {
  const redis = connect(toPort, '127.0.0.1')
  /** @type {number | undefined} */
  let requestMs
  redis.on('data', () => {
    if (requestMs !== undefined && nowMs() - requestMs > LATE_MS)
      late.push([requestMs - eachWayMs, nowMs() + eachWayMs])
    requestMs = undefined
  })
  for (const [from, to] of [
    [client, redis],
    [redis, client],
  ]) {
    from?.setNoDelay(true)
    from?.on('error', () => {})
    from?.on('close', () => to?.destroy())
    // Timers of one duration fire in the order in which they were set, so chunks stay in order.
    from?.on('data', (data) =>
      later(() => {
        if (to === redis) requestMs ??= nowMs()
        to?.write(data)
      }),
    )
  }
})
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  process.send?.(port)
})
process.on('message', () => process.send?.(late))
process.on('disconnect', () => process.exit(0))
