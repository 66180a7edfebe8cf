import { messageOf, send } from './ask.js'
import { eventsOf } from './event-stream.js'
import { createHistory, type History } from './history.js'
import type { LiveEvent } from './live-event.js'

export type Connection = 'connecting' | 'live' | 'lost' | 'full'

/** One for the page: whoever comes back to the view finds the last minutes there. */
export const history: History = createHistory()

export function forgetHistory(): void {
  history.clear()
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
/** An event comes every second. A service that is frozen keeps its connections, and says nothing. */
const LONGEST_SILENCE_MS = 5000

export interface SourceOptions {
  readonly token: string | undefined
  readonly onConnection: (connection: Connection) => void
  /** 401 or 403: there is no use in trying again. */
  readonly onRefused: (status: number) => void
}

/** Listens until it is told to stop, and connects again whenever the connection is lost or silent. */
export function listen({ token, onConnection, onRefused }: SourceOptions): () => void {
  const leaving = new AbortController()
  const { signal } = leaving
  let waitMs = FIRST_WAIT_MS

  async function once(heard: () => void, silent: AbortSignal): Promise<Connection | undefined> {
    const response = await send('api/v1/admin/live', { token, signal: AbortSignal.any([signal, silent]) })
    if (response.status === 401 || response.status === 403) {
      onRefused(response.status)
      return undefined
    }
    if (!response.ok || response.body === null) {
      await messageOf(response)
      return response.status === 503 ? 'full' : 'lost'
    }
    for await (const data of eventsOf(response.body)) {
      if (signal.aborted) return undefined
      heard()
      history.add(JSON.parse(data) as LiveEvent)
      onConnection('live')
      waitMs = FIRST_WAIT_MS
    }
    return 'lost'
  }

  async function untilSilent(): Promise<Connection | undefined> {
    const silent = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      clearTimeout(timer)
      timer = setTimeout(() => silent.abort(), LONGEST_SILENCE_MS)
    }
    heard()
    try {
      return await once(heard, silent.signal)
    } catch {
      return 'lost'
    } finally {
      clearTimeout(timer)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const connection = await untilSilent()
      if (connection === undefined || signal.aborted) return
      onConnection(connection)
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)
    }
  }

  void run()
  return () => leaving.abort()
}
