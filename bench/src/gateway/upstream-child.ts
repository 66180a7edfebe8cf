import { createServer } from 'node:net'

/*
 * The upstream of all proxies. It parses only as much HTTP as it needs to find the end of a request, so that the proxy
 * is the bottleneck. `/count` returns the number of other requests. Prints its address.
 */

const BODY = 'x'.repeat(128)
const RESPONSE = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${BODY.length}\r\netag: "one"\r\ncache-control: no-cache\r\n\r\n${BODY}`,
)
let count = 0

const server = createServer((socket) => {
  let text = ''
  socket.setNoDelay()
  socket.on('error', () => socket.destroy())
  socket.on('data', (data) => {
    text += data.toString('latin1')
    for (let end = endOf(text); end > 0; end = endOf(text)) {
      const isCount = text.startsWith('GET /count ')
      text = text.slice(end)
      if (!isCount) {
        count++
        socket.write(RESPONSE)
      } else {
        const body = String(count)
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      }
    }
  })
})

/** The end of the first request; 0 if it is incomplete. */
function endOf(text: string): number {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end < 4) return 0
  // Every proxy here forwards Content-Length.
  const at = text.toLowerCase().indexOf('content-length: ')
  const length = at < 0 || at > end ? 0 : Number.parseInt(text.slice(at + 16, at + 26), 10)
  return text.length >= end + length ? end + length : 0
}

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
})
process.once('SIGTERM', () => process.exit(0))
