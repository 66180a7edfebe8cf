// A process with many connections. Each sends a request byte by byte and never finishes it. Arguments: the port and the
// number of connections. Sends a message when all are open; a connection that is closed is opened again.
import { connect } from 'node:net'

const [port, count] = process.argv.slice(2).map(Number)
const HEAD = 'GET /api/v1/rate-limit/check?key=slow HTTP/1.1\r\nhost: slow\r\nx-slow: '
const BETWEEN_MS = 2000
/** The service limits the connections of one address, so these come from several, and from none that a test uses. */
const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']
let opened = 0

/** @param {string} [localAddress] */
function open(localAddress) {
  let sent = 0
  const socket = connect({ port: port ?? 0, host: '127.0.0.1', localAddress }, () => {
    if (++opened === count) process.send?.('open')
  })
  const timer = setInterval(() => socket.write(HEAD[sent++] ?? 'x'), BETWEEN_MS * (0.5 + Math.random()))
  socket.on('error', () => {})
  socket.on('close', () => {
    clearInterval(timer)
    setTimeout(open, 100, localAddress)
  })
}

for (let i = 0; i < (count ?? 0); i++) setTimeout(open, i / 2, ADDRESSES[i % ADDRESSES.length])
process.on('disconnect', () => process.exit(0))
