import { Readable } from 'node:stream'
import type { Application } from './framework.js'

/** The response of the application, as a `Response`. */
export function toResponse({ status, body }: ReturnType<Application['answer']>): Response {
  if (typeof body === 'string') return new Response(body, { status })
  const bytes = Readable.toWeb(Readable.from(body)).pipeThrough(new TextEncoderStream() as never)
  return new Response(bytes as ReadableStream, { status })
}
