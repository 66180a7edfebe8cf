import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { CHECK } from './http-client.js'

/** One check of a flood. */
export interface FloodCheck {
  /** Names the limit that is checked: its policy and key. */
  readonly limit: string
  readonly cost: number
  /** Path and query of the request. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Units that one limit has admitted. */
interface Admitted {
  store: number
  local: number
}

/** The responses to a flood. */
export interface Tally {
  responses: number
  /** Connections and requests that ended without a response. */
  failures: number
  /** Responses by `status degraded`, such as `429 store` or `200 open`. */
  readonly kinds: Map<string, number>
  readonly admitted: Map<string, Admitted>
}

export function createTally(): Tally {
  return { responses: 0, failures: 0, kinds: new Map(), admitted: new Map() }
}

function count(
  tally: Tally,
  { limit, cost }: FloodCheck,
  status: number,
  degraded: string | undefined,
): void {
  tally.responses++
  const kind = `${status} ${degraded ?? 'store'}`
  tally.kinds.set(kind, (tally.kinds.get(kind) ?? 0) + 1)
  if (status !== 200) return
  const admitted = tally.admitted.get(limit) ?? { store: 0, local: 0 }
  if (degraded === undefined) admitted.store += cost
  else admitted.local += cost
  tally.admitted.set(limit, admitted)
}

/** How many responses were marked with this `degraded` value. */
export function degradedCount({ kinds }: Tally, degraded: string): number {
  return [...kinds].reduce((sum, [kind, n]) => (kind.endsWith(` ${degraded}`) ? sum + n : sum), 0)
}

/** A check as an entry of a batch. */
export interface BatchEntry {
  readonly policy: string
  readonly key: string
  readonly permits?: number
}

/** Sends all batches at once, each on a new connection. */
export async function sendBatches(
  url: string,
  batches: readonly (readonly BatchEntry[])[],
  tally: Tally,
): Promise<void> {
  await Promise.all(batches.map((checks) => sendBatch(url, checks, tally)))
}

function sendBatch(url: string, checks: readonly BatchEntry[], tally: Tally): Promise<void> {
  const json = JSON.stringify({ checks })
  return new Promise((resolve) => {
    const fail = () => {
      tally.failures++
      resolve()
    }
    const sent = request(
      `${url}${CHECK}/batch`,
      { method: 'POST', agent: false, headers: { 'content-type': 'application/json' }, timeout: TIMEOUT_MS },
      (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (data: string) => {
          body += data
        })
        response.on('error', fail)
        response.on('end', () => {
          if (response.statusCode === 200) countBatch(checks, body, tally)
          else count(tally, { limit: 'batch', cost: 0, path: '' }, response.statusCode ?? 0, undefined)
          resolve()
        })
      },
    )
    sent.on('timeout', () => sent.destroy()).on('error', fail)
    sent.end(json)
  })
}

function countBatch(checks: readonly BatchEntry[], body: string, tally: Tally): void {
  const { results } = JSON.parse(body) as { results: { allowed: boolean; degraded?: string }[] }
  for (const [i, { allowed, degraded }] of results.entries()) {
    const { policy, key, permits = 1 } = checks[i]!
    const status = allowed ? 200 : degraded === 'closed' ? 503 : 429
    count(tally, { limit: `${policy}:${key}`, cost: permits, path: '' }, status, degraded)
  }
}

/** Opens one connection for each list of checks and writes the whole list at once. */
export async function sendPipelined(
  url: string,
  lists: readonly (readonly FloodCheck[])[],
  tally: Tally,
): Promise<void> {
  const { hostname, port } = new URL(url)
  await Promise.all(
    lists.map((checks) => sendOn(connect({ host: hostname, port: Number(port) }), checks, tally)),
  )
}

function sendOn(socket: Socket, checks: readonly FloodCheck[], tally: Tally): Promise<void> {
  let answered = 0
  let text = ''
  socket
    .setNoDelay(true)
    .setEncoding('latin1')
    .setTimeout(TIMEOUT_MS, () => socket.destroy())
  socket.on('error', () => {})
  socket.write(checks.map(rawRequest).join(''))
  socket.on('data', (data: string) => {
    text += data
    for (;;) {
      const response = firstResponse(text)
      if (response === undefined) break
      text = text.slice(response.length)
      count(tally, checks[answered++]!, response.status, response.degraded)
      if (answered === checks.length) socket.destroy()
    }
  })
  return new Promise((resolve) => {
    socket.on('close', () => {
      tally.failures += checks.length - answered
      resolve()
    })
  })
}

function rawRequest({ path, headers = {} }: FloodCheck): string {
  const fields = Object.entries({ host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `GET ${path} HTTP/1.1\r\n${fields.join('')}\r\n`
}

/** The response at the beginning of the text, if all of it is there. */
function firstResponse(
  text: string,
): { status: number; degraded: string | undefined; length: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = text.slice(0, headEnd)
  const bodyLength = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  const length = headEnd + 4 + bodyLength
  if (text.length < length) return undefined
  return {
    status: Number(head.slice(9, 12)),
    degraded: /\r\nx-ratelimit-degraded: (\w+)/i.exec(head)?.[1],
    length,
  }
}

/** Opens one HTTP/2 session for each list of checks and all of its streams at once. */
export async function sendStreams(
  url: string,
  ca: string,
  lists: readonly (readonly FloodCheck[])[],
  tally: Tally,
): Promise<void> {
  await Promise.all(
    lists.map(async (checks) => {
      const session = connectHttp2(url, { ca })
      session.on('error', () => {})
      await Promise.all(
        checks.map(
          (check) =>
            new Promise<void>((resolve) => {
              const stream = session.request({ ':path': check.path, ...check.headers })
              let isAnswered = false
              stream.setTimeout(TIMEOUT_MS, () => stream.destroy())
              stream.on('response', (headers) => {
                isAnswered = true
                count(
                  tally,
                  check,
                  headers[':status'] ?? 0,
                  headers['x-ratelimit-degraded'] as string | undefined,
                )
              })
              stream.on('error', () => {})
              stream.on('close', () => {
                if (!isAnswered) tally.failures++
                resolve()
              })
              stream.resume()
            }),
        ),
      )
      session.destroy()
    }),
  )
}

const TIMEOUT_MS = 15_000
