import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
  /** The client's port. */
  port: number | undefined
}

export type Handler = (received: Received, response: ServerResponse, nth: number) => void

/** A server for one test, closed when the test ends. */
export async function serve(handler: Handler): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { method, url: path, headers, socket } = request
    const one = { method: method!, path: path!, headers, body, port: socket.remotePort }
    handler(one, response, received.push(one))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}
