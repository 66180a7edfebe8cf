import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LiveEvent } from '../src/dashboard/live-event.js'
import type { AdministeredSite } from './browser.js'

/** A real service, but for what happens: that comes as fast as a test wants. */
export interface FastService {
  readonly url: string
  readonly admin: AdministeredSite['admin']
  /** Sends an event to every open stream; returns their number. */
  tell(event: LiveEvent): number
  close(): Promise<void>
}

export async function startFastService(real: AdministeredSite, port = 0): Promise<FastService> {
  const streams = new Set<ServerResponse>()
  const server = createServer(async (request, response) => {
    if (request.url?.startsWith('/api/v1/admin/live')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      streams.add(response)
      response.on('close', () => streams.delete(response))
      return
    }
    const { authorization } = request.headers
    const answer = await fetch(real.url + request.url, {
      headers: authorization === undefined ? {} : { authorization },
    })
    const headers = Object.fromEntries(
      ['content-type', 'content-security-policy', 'cache-control'].map((name) => [
        name,
        answer.headers.get(name) ?? '',
      ]),
    )
    response.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    admin: real.admin,
    tell(event) {
      for (const stream of streams) stream.write(`event: live\ndata: ${JSON.stringify(event)}\n\n`)
      return streams.size
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The event of a second, with as much in it as there can be: every key is another in every minute. */
export function eventAt(second: number, timeMs = 1_700_000_000_000 + second * 1000): LiveEvent {
  const wave = (i: number) => Math.round(100 * (1 + Math.sin(second / 20 + i)))
  const rates = (i: number) => ({
    allowed: wave(i),
    refused: wave(i + 1),
    allowedTotal: second * 100,
    refusedTotal: second * 50,
  })
  const keys = (what: string) =>
    Array.from({ length: 20 }, (_, i) => ({
      policy: `policy-${i % 8}`,
      key: `${what}:${Math.floor(second / 60)}:${i}`,
      count: 1000 - 7 * i,
      error: i,
      isHashed: false,
    }))
  return {
    timeMs,
    seconds: 1,
    processes: 1,
    policies: Array.from({ length: 8 }, (_, i) => ({
      name: `policy-${i}`,
      algorithm: 'TOKEN_BUCKET',
      onStoreFailure: 'open',
      ...rates(i),
    })),
    total: rates(0),
    checkMs: { p50: 0.02 + 0.01 * Math.sin(second), p99: 0.4 },
    state: 'well',
    degraded: { totals: { open: 0, closed: 0, local: 0 } },
    store: { kind: 'redis', isUp: true, latencyMs: 0.4, errors: 0 },
    breaker: 'closed',
    instance: 'a',
    instances: [{ id: 'a', host: 'here', pid: 1, version: '0.1.0', startedMs: 1_700_000_000_000 }],
    busiest: keys('busy'),
    refused: keys('refused'),
  }
}

/** Again and again until somebody looks. */
export async function told(tell: () => number): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if (tell() > 0) return
    await sleep(20)
  }
  throw new Error('nobody has looked for 10 seconds')
}
