import type { LiveEvent } from '../src/live/live-event.js'

export const LIVE = '/api/v1/admin/live'

/** An open stream of events. */
export interface LiveStream {
  readonly response: Response
  /** The next event; undefined at the end of the stream. */
  next(): Promise<LiveEvent | undefined>
  close(): Promise<void>
}

/** Opens a stream with the generated admin token of a service, or with the headers of `init`. */
export async function openLive(
  { url, admin }: { readonly url: string; readonly admin?: { readonly authorization: string } },
  init: RequestInit = {},
): Promise<LiveStream> {
  const leaving = new AbortController()
  const response = await fetch(url + LIVE, { headers: { ...admin }, ...init, signal: leaving.signal })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    response,
    async next() {
      for (;;) {
        const end = text.indexOf('\n\n')
        if (end >= 0) {
          const event = text.slice(0, end)
          text = text.slice(end + 2)
          return JSON.parse(/^event: live\ndata: (.*)$/.exec(event)![1]!)
        }
        const { done, value } = await reader.read()
        if (done) return undefined
        text += value
      }
    },
    async close() {
      await reader.cancel().catch(() => {})
      leaving.abort()
    },
  }
}
