import { Agent, type IncomingHttpHeaders, request } from 'node:http'

interface Response {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface HttpClient {
  get(url: string, headers?: Record<string, string>): Promise<Response>
  close(): void
}

/** Keeps its connections, like a gateway in front of a service. */
export function createHttpClient({ connections = 64 } = {}): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return {
    get: (url, headers = {}) =>
      new Promise((resolve, reject) => {
        const outgoing = request(url, { agent, headers }, (response) => {
          let body = ''
          response.setEncoding('utf8')
          response.on('data', (data: string) => {
            body += data
          })
          response.on('error', reject)
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          )
        })
        outgoing.on('error', reject)
        outgoing.end()
      }),
    close: () => agent.destroy(),
  }
}

export const CHECK = '/api/v1/rate-limit/check'
