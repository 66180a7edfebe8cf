import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Pool } from 'undici'

/*
 * The least that a proxy can be: Node's server, and a pool of undici spoken to in its fastest way. It drops what undici
 * refuses, and otherwise passes on what it gets. No limiter, no header of its own, no time-outs, no metrics, no retries.
 * Argument: the upstream. Says where it listens.
 */

const pool = new Pool(process.argv[2]!, { connections: 1024 })

const server = createServer((request, response) => {
  const headers: string[] = []
  for (const name in request.headers) {
    if (name === 'host' || name === 'connection') continue
    headers.push(name, request.headers[name] as string)
  }
  const hasBody = request.headers['content-length'] !== undefined
  pool.dispatch(
    { path: request.url!, method: request.method as 'GET', headers, body: hasBody ? request : null },
    answering(request, response),
  )
})

function answering(_request: IncomingMessage, response: ServerResponse) {
  return {
    onConnect() {},
    onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
      const headers: string[] = []
      for (const one of raw) headers.push(one.toString('latin1'))
      response.writeHead(status, headers)
      response.on('drain', resume)
      return true
    },
    onData: (chunk: Buffer): boolean => response.write(chunk),
    onComplete() {
      response.end()
    },
    onError() {
      response.destroy()
    },
  }
}

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
})
process.once('SIGTERM', () => process.exit(0))
