import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import type { LiveEvent } from 'tidegate/dist/live/live-event.js'
import type { AdministeredSite } from './browser.js'

/** A proxy for a real service whose live events are sent by the test. */
export interface FakeService {
  readonly url: string
  readonly admin: AdministeredSite['admin']
  /** Resolves when a page has opened a stream. */
  connected(): Promise<void>
  /**
   * Sends an event to every open stream. A new stream starts with the last event, as in the real service: a slow page may
   * not be connected yet, and a page reconnects after five seconds without events.
   */
  emit(event: LiveEvent): void
  close(): Promise<void>
}

export async function startFakeService(real: AdministeredSite, port = 0): Promise<FakeService> {
  const streams = new Set<ServerResponse>()
  let last: LiveEvent | undefined
  const write = (stream: ServerResponse, event: LiveEvent) =>
    stream.write(`event: live\ndata: ${JSON.stringify(event)}\n\n`)
  const server = createServer(async (request, response) => {
    if (request.url?.startsWith('/api/v1/admin/live')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      streams.add(response)
      response.on('close', () => streams.delete(response))
      if (last !== undefined) write(response, last)
      return
    }
    const { authorization } = request.headers
    const upstream = await fetch(real.url + request.url, {
      headers: authorization === undefined ? {} : { authorization },
    })
    const headers = Object.fromEntries(
      ['content-type', 'content-security-policy', 'cache-control'].map((name) => [
        name,
        upstream.headers.get(name) ?? '',
      ]),
    )
    response.writeHead(upstream.status, headers).end(Buffer.from(await upstream.arrayBuffer()))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    admin: real.admin,
    connected: () => until('a page to connect', () => streams.size > 0),
    emit(event) {
      last = event
      for (const stream of streams) write(stream, event)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A live event of maximum size. Its keys change every minute. */
export function liveEvent(second: number, timeMs = 1_700_000_000_000 + second * 1000): LiveEvent {
  const wave = (i: number) => Math.round(100 * (1 + Math.sin(second / 20 + i)))
  const rates = (i: number) => ({
    allowed: wave(i),
    denied: wave(i + 1),
    allowedTotal: second * 100,
    deniedTotal: second * 50,
  })
  const keys = (prefix: string) =>
    Array.from({ length: 20 }, (_, i) => ({
      policy: `policy-${i % 8}`,
      key: `${prefix}:${Math.floor(second / 60)}:${i}`,
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
    message: 'Healthy.',
    degraded: { perSecond: 0, totals: { open: 0, closed: 0, local: 0 } },
    store: { kind: 'redis', isUp: true, latencyMs: 0.4, errors: 0 },
    breaker: 'closed',
    instance: 'a',
    instances: [{ id: 'a', host: 'here', pid: 1, version: '0.1.0', startedMs: 1_700_000_000_000 }],
    busiest: keys('busy'),
    denied: keys('denied'),
  }
}
