import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from '../../http/http-error.js'
import type { Service } from '../../service.js'
import { ADMIN, BAD_REQUEST, errors, FOR_ADMINS } from '../openapi/schemas.js'
import { adminsOnly } from '../request/access.js'
import { assertNoBody } from '../request/no-body.js'

const schema = {
  operationId: 'streamLive',
  tags: ['administration'],
  summary: 'Streams live figures once a second, as server-sent events.',
  description:
    'Each event is a JSON object: rates and totals by policy, check latency, state of the store, instances that share it, and the busiest keys of the last minute.',
  security: ADMIN,
  querystring: {
    type: 'object',
    additionalProperties: false,
    properties: {
      events: {
        type: 'integer',
        description: 'Number of events to send. Default: until the client disconnects.',
      },
    },
  },
  response: {
    200: {
      description: 'Server-sent events; the first is sent at once.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    ...BAD_REQUEST,
    ...FOR_ADMINS,
    503: errors('Too many live streams, or the service is stopping.'),
  },
}

/** A client with more unread bytes, a few minutes of events, is disconnected. */
const MAX_UNREAD_BYTES = 1024 * 1024

export function liveRoutes(app: FastifyInstance, service: Service): void {
  app.get('/api/v1/admin/live', { onRequest: adminsOnly(service), schema }, (request, reply) => {
    assertNoBody(request)
    const { events = Number.POSITIVE_INFINITY } = request.query as { events?: number }
    // A stream to a closed connection would never end.
    if (request.raw.socket.destroyed) return void reply.hijack()
    stream(service, events, request, reply)
  })
}

function stream(service: Service, maxEvents: number, request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = reply
  const { socket } = request.raw
  let sent = 0

  function send(json: string): void {
    if (raw.writableLength > MAX_UNREAD_BYTES) return void raw.destroy()
    // JSON has no line breaks, so it is one line of data.
    raw.write(`event: live\ndata: ${json}\n\n`)
    if (++sent >= maxEvents) end()
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
    throw new HttpError(503, 'Too many live streams are open, or the service is stopping; retry later.')
  }
  reply.hijack()
  raw.on('close', leave).on('error', leave)
  // A response that is queued behind others on its connection emits no close event.
  socket.on('close', leave)
  raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream; charset=utf-8',
    'x-content-type-options': 'nosniff',
    // Proxies that buffer responses would never forward this one.
    'x-accel-buffering': 'no',
  })
  raw.flushHeaders()
}
