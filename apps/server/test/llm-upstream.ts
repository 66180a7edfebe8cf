import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, createGzip, gzipSync } from 'node:zlib'
import { type TestUpstream, upstreamOf } from './gateway.js'

/*
 * An upstream with the endpoints of OpenAI and Anthropic. The model of a request says how it responds:
 *
 *   echo      like the real one: OpenAI streams have usage if the request asks for it
 *   no-usage  the same without usage
 *   endless   a stream that goes on until the connection is closed
 *   cut       closes the connection after the first chunk
 *   silent    never responds
 *   error     500, unauthorized 401, both without usage
 *   audio     bytes that are not text
 *   queued    goes on in the background, as OpenAI's responses can
 */

/** The text of each chunk: 10 tokens of 4 characters. */
export const CHUNK = 'x'.repeat(40)
/** The chunks of a response. */
export const CHUNKS = 3
/** The usage that is reported. */
export const USAGE = { input: 25, output: 31 }

export interface LlmUpstream extends TestUpstream {
  /** The bodies and headers that have arrived. */
  readonly received: { readonly body: string; readonly headers: IncomingMessage['headers'] }[]
}

export async function llmUpstream(): Promise<LlmUpstream> {
  const received: { body: string; headers: IncomingMessage['headers'] }[] = []
  const upstream = await upstreamOf(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces).toString()
    received.push({ body, headers: request.headers })
    let parsed: Body | undefined
    try {
      parsed = JSON.parse(body)
    } catch {
      // A 400 reports the invalid JSON.
    }
    if (parsed === undefined) response.writeHead(400).end('not JSON')
    else respond(request, response, parsed)
  })
  return { ...upstream, received }
}

interface Body {
  readonly model: string
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
}

function respond(request: IncomingMessage, response: ServerResponse, body: Body): void {
  const isAnthropic = request.url === '/v1/messages'
  const isGzip = String(request.headers['accept-encoding'] ?? '').includes('gzip')
  if (body.model === 'silent') return
  if (body.model === 'error' || body.model === 'unauthorized') {
    response.writeHead(body.model === 'error' ? 500 : 401, { 'content-type': 'application/json' })
    response.end('{"error":{"message":"no"}}')
  } else if (body.model === 'audio') {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(1000))
  } else if (body.model === 'queued') {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"status":"queued","background":true,"output":[],"usage":null}')
  } else if (body.stream === true) {
    void stream(response, isAnthropic ? anthropicEvents(body) : openAiEvents(body), body, isGzip)
  } else {
    const json = JSON.stringify(isAnthropic ? anthropicMessage(body) : openAiCompletion(body))
    response.setHeader('content-type', 'application/json')
    if (isGzip) response.setHeader('content-encoding', 'gzip')
    response.end(isGzip ? gzipSync(json) : json)
  }
}

async function stream(
  response: ServerResponse,
  events: Iterable<string>,
  { model }: Body,
  isGzip: boolean,
): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
  })
  const gzip = isGzip ? createGzip() : undefined
  gzip?.pipe(response)
  for (const event of events) {
    if (response.destroyed) return
    if (gzip === undefined) response.write(event)
    else {
      gzip.write(event)
      await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve))
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (model === 'cut') return void response.socket?.destroy()
  }
  if (gzip === undefined) response.end()
  else {
    gzip.end()
    await once(gzip, 'end')
  }
}

function* openAiEvents({ model, stream_options }: Body): Iterable<string> {
  const hasUsage = stream_options?.include_usage === true && model !== 'no-usage'
  for (let n = 0; model === 'endless' || n < CHUNKS; n++) {
    const chunk = { id: 'chatcmpl-1', model, choices: [{ index: 0, delta: { content: CHUNK } }] }
    yield `data: ${JSON.stringify(hasUsage ? { ...chunk, usage: null } : chunk)}\n\n`
  }
  const usage = { prompt_tokens: USAGE.input, completion_tokens: USAGE.output }
  if (hasUsage) yield `data: ${JSON.stringify({ choices: [], usage })}\n\n`
  yield 'data: [DONE]\n\n'
}

function* anthropicEvents({ model }: Body): Iterable<string> {
  const usage = { input_tokens: USAGE.input, output_tokens: 1 }
  yield event({ type: 'message_start', message: { content: [], ...(model === 'no-usage' ? {} : { usage }) } })
  for (let n = 0; model === 'endless' || n < CHUNKS; n++) {
    yield event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: CHUNK } })
  }
  if (model !== 'no-usage') {
    yield event({ type: 'message_delta', delta: {}, usage: { output_tokens: USAGE.output } })
  }
  yield event({ type: 'message_stop' })
}

function event(data: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}

function openAiCompletion({ model }: Body): object {
  const completion = { choices: [{ message: { role: 'assistant', content: CHUNK.repeat(CHUNKS) } }] }
  const usage = { prompt_tokens: USAGE.input, completion_tokens: USAGE.output }
  return model === 'no-usage' ? completion : { ...completion, usage }
}

function anthropicMessage({ model }: Body): object {
  const message = { role: 'assistant', content: [{ type: 'text', text: CHUNK.repeat(CHUNKS) }] }
  const usage = { input_tokens: USAGE.input, output_tokens: USAGE.output }
  return model === 'no-usage' ? message : { ...message, usage }
}
