import { createServer, type ServerResponse } from 'node:http'
import { Pool } from 'undici'

/*
 * The minimum cost of a proxy: Node's server and undici's `dispatch`, its fastest API. It drops headers that undici
 * rejects and forwards all others. No limiter, no added headers, no timeouts, metrics or retries. Argument: the upstream.
 * Prints its address.
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
    forwardTo(response),
  )
})

function forwardTo(response: ServerResponse) {
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
