// A TCP proxy that delays every chunk in both directions. Arguments: the port of Redis and the delay in milliseconds.
// Sends the port that it listens on.
import { connect, createServer } from 'node:net'

const [toPort = 0, eachWayMs = 0] = process.argv.slice(2).map(Number)

const server = createServer((client) => {
  const redis = connect(toPort, '127.0.0.1')
  for (const [from, to] of [
    [client, redis],
    [redis, client],
  ]) {
    from?.setNoDelay(true)
    from?.on('error', () => {})
    from?.on('close', () => to?.destroy())
    // Timers of one duration fire in the order in which they were set, so chunks stay in order.
    from?.on('data', (data) => setTimeout(() => to?.write(data), eachWayMs))
  }
})
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  process.send?.(port)
})
process.on('disconnect', () => process.exit(0))
