import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

/** The status of a request for exactly this target. `fetch` and `inject` would resolve `..` before they send it. */
export async function rawStatus(port: number, path: string): Promise<number> {
  const sent = request({ host: '127.0.0.1', port, path, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response.statusCode!
}
