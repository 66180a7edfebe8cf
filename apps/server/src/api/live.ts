import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../service.js'
import { adminsOnly } from './access.js'
import { ApiError } from './api-error.js'
import { assertNoBody } from './no-body.js'
import { ADMIN, BAD_REQUEST, errors, FOR_ADMINS } from './schemas.js'

const schema = {
  tags: ['administration'],
  summary: 'What happens, once a second, as server-sent events.',
  description:
    'Each event is a JSON object: rates and totals by policy, how long checks take, how the store is, who shares it, and the busiest keys of the last minute.',
  security: ADMIN,
  querystring: {
    type: 'object',
    additionalProperties: false,
    properties: {
      events: { type: 'integer', description: 'How many to send. Default: until you go.' },
    },
  },
  response: {
    200: {
      description: 'Server-sent events; the first at once.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    ...BAD_REQUEST,
    ...FOR_ADMINS,
    503: errors('Too many look already, or the service stops.'),
  },
}

/** Whoever has so much unread reads too slowly: some minutes of events. */
const MAX_UNREAD_BYTES = 1024 * 1024

export function liveRoutes(app: FastifyInstance, service: Service): void {
  app.get('/api/v1/admin/live', { onRequest: adminsOnly(service), schema }, (request, reply) => {
    assertNoBody(request)
    const { events = Number.POSITIVE_INFINITY } = request.query as { events?: number }
    // Whoever has gone already would be told for ever.
    if (request.raw.socket.destroyed) return void reply.hijack()
    stream(service, events, request, reply)
  })
}

function stream(service: Service, most: number, request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = reply
  const { socket } = request.raw
  let sent = 0

  function send(json: string): void {
    if (raw.writableLength > MAX_UNREAD_BYTES) return void raw.destroy()
    // JSON has no line breaks, so it is one line of data.
    raw.write(`event: live\ndata: ${json}\n\n`)
    if (++sent >= most) end()
  }
  function end(): void {
    stop?.()
    raw.end()
  }
  function leave(): void {
    stop?.()
    socket.off('close', leave)
  }

  const stop = service.isStopping ? undefined : service.live.watch(send, end)
  if (stop === undefined) {
    throw new ApiError(503, 'Too many look already, or the service stops; try again later.')
  }
  reply.hijack()
  raw.on('close', leave).on('error', leave)
  // An answer that waits for those before it on its connection is not told that this is closed.
  socket.on('close', leave)
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    'x-content-type-options': 'nosniff',
    // Proxies that collect answers before they pass them on would never pass this on.
    'x-accel-buffering': 'no',
  })
  raw.flushHeaders()
}
