import { createServer } from 'node:net'

/*
 * The upstream of all proxies. It knows just enough of HTTP to see where a request ends, so that what is measured is the
 * proxy. `/count` says how many other requests it has answered. Says where it listens.
 */

const BODY = 'x'.repeat(128)
const ANSWER = Buffer.from(
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
      const isQuestion = text.startsWith('GET /count ')
      text = text.slice(end)
      if (!isQuestion) {
        count++
        socket.write(ANSWER)
      } else {
        const body = String(count)
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      }
    }
  })
})

/** Where the first request ends; 0 if it is not whole. */
function endOf(text: string): number {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end < 4) return 0
  // Every proxy here passes a length on as a length.
  const at = text.toLowerCase().indexOf('content-length: ')
  const length = at < 0 || at > end ? 0 : Number.parseInt(text.slice(at + 16, at + 26), 10)
  return text.length >= end + length ? end + length : 0
}

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
})
process.once('SIGTERM', () => process.exit(0))
