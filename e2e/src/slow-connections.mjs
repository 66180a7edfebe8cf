// A process of its own with many connections that each send a request byte by byte, and never get to its end. Arguments:
// the port, how many. Sends a message when all are there; one that is closed is opened again.
import { connect } from 'node:net'

const [port, count] = process.argv.slice(2).map(Number)
const HEAD = 'GET /api/v1/rate-limit/check?key=slow HTTP/1.1\r\nhost: slow\r\nx-slow: '
const BETWEEN_MS = 2000
let opened = 0

function open() {
  let sent = 0
  const socket = connect(port ?? 0, '127.0.0.1', () => {
    if (++opened === count) process.send?.('open')
  })
  const timer = setInterval(() => socket.write(HEAD[sent++] ?? 'x'), BETWEEN_MS * (0.5 + Math.random()))
  socket.on('error', () => {})
  socket.on('close', () => {
    clearInterval(timer)
    setTimeout(open, 100)
  })
}

for (let i = 0; i < (count ?? 0); i++) setTimeout(open, i / 2)
process.on('disconnect', () => process.exit(0))
