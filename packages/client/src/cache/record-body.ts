/** Returns an equal response that passes its body to `done` once the whole body was read, unless the body is too long. */
export function recordBody(
  response: Response,
  maxBytes: number,
  done: (body: Uint8Array<ArrayBuffer> | null) => void,
): Response {
  const { status, statusText, headers, body, url } = response
  if (body === null) {
    done(null)
    return response
  }
  let chunks: Uint8Array[] = []
  let bytes = 0
  const recorder = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      // A copy, because the reader may change its own chunk.
      if (bytes <= maxBytes) chunks.push(chunk.slice())
      else chunks = []
      controller.enqueue(chunk)
    },
    flush() {
      if (bytes <= maxBytes) done(joinChunks(chunks, bytes))
    },
  })
  return withUrl(url, new Response(body.pipeThrough(recorder), { status, statusText, headers }))
}

function joinChunks(chunks: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(bytes)
  let offset = 0
  for (const chunk of chunks) {
    body.set(chunk, offset)
    offset += chunk.byteLength
  }
  return body
}

/** Sets the URL, which a constructed response does not have. */
export function withUrl(url: string, response: Response): Response {
  return Object.defineProperty(response, 'url', { value: url })
}
