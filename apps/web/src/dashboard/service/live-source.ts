import type { LiveEvent } from 'tidegate/dist/live/live-event.js'
import { eventsOf } from './event-stream.js'
import { createHistory, type History } from './history.js'
import { messageOf, send } from './request.js'

export type Connection = 'connecting' | 'live' | 'lost' | 'full'

/** Shared by the whole page, so that returning to Live shows the minutes before. */
export const history: History = createHistory()

export function clearHistory(): void {
  history.clear()
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
/** Events arrive every second. A frozen service keeps its connections open but sends nothing. */
const LONGEST_SILENCE_MS = 5000

export interface SourceOptions {
  readonly token: string | undefined
  readonly onConnection: (connection: Connection) => void
  /** Called for status 401 or 403, which is not retried. */
  readonly onUnauthorized: (status: number) => void
}

/** Reads live events, and reconnects when the connection is lost or silent. Returns a function that stops. */
export function listen({ token, onConnection, onUnauthorized }: SourceOptions): () => void {
  const leaving = new AbortController()
  const { signal } = leaving
  let waitMs = FIRST_WAIT_MS

  async function readEvents(onEvent: () => void, silence: AbortSignal): Promise<Connection | undefined> {
    const response = await send('api/v1/admin/live', { token, signal: AbortSignal.any([signal, silence]) })
    if (response.status === 401 || response.status === 403) {
      onUnauthorized(response.status)
      return undefined
    }
    if (!response.ok || response.body === null) {
      await messageOf(response)
      return response.status === 503 ? 'full' : 'lost'
    }
    for await (const data of eventsOf(response.body)) {
      if (signal.aborted) return undefined
      onEvent()
      history.add(JSON.parse(data) as LiveEvent)
      onConnection('live')
      waitMs = FIRST_WAIT_MS
    }
    return 'lost'
  }

  async function connect(): Promise<Connection | undefined> {
    const silence = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const restartTimer = () => {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), LONGEST_SILENCE_MS)
    }
    restartTimer()
    try {
      return await readEvents(restartTimer, silence.signal)
    } catch {
      return 'lost'
    } finally {
      clearTimeout(timer)
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const connection = await connect()
      if (connection === undefined || signal.aborted) return
      onConnection(connection)
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2)
    }
  }

  void run()
  return () => leaving.abort()
}
