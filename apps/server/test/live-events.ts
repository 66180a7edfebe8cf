import type { LiveEvent } from '../src/live/live-event.js'

export const LIVE = '/api/v1/admin/live'

/** A stream of events that is being read. */
export interface LiveStream {
  readonly response: Response
  /** The next one; undefined when there are no more. */
  next(): Promise<LiveEvent | undefined>
  close(): Promise<void>
}

export async function openLive(url: string, init: RequestInit = {}): Promise<LiveStream> {
  const leaving = new AbortController()
  const response = await fetch(url + LIVE, { ...init, signal: leaving.signal })
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
