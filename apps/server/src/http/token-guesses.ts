/** Wrong tokens that a client may send in a minute before its responses are delayed. */
const FREE_GUESSES = 10
const PERIOD_MS = 60_000
/** Delay of the response to each further wrong token. */
const HOLD_MS = 1000
/** Bounds of the memory: beyond them, the oldest client is dropped, and responses are no longer delayed. */
const MAX_CLIENTS = 10_000
const MAX_HELD = 1000

/** Counts wrong tokens by client. Right tokens are never delayed, so an attacker cannot lock out an administrator. */
export interface TokenGuesses {
  /** Records a wrong token. Calls `respond` with the seconds to wait: 0 at once, or more after a delay. */
  record(client: string, respond: (retryAfterSeconds: number) => void): void
}

export function createTokenGuesses(now: () => number = () => performance.now()): TokenGuesses {
  const clients = new Map<string, { count: number; readonly startMs: number }>()
  let held = 0

  return {
    record(client, respond) {
      let entry = clients.get(client)
      if (entry === undefined || now() - entry.startMs >= PERIOD_MS) {
        clients.delete(client)
        entry = { count: 0, startMs: now() }
        clients.set(client, entry)
        if (clients.size > MAX_CLIENTS) clients.delete(clients.keys().next().value!)
      }
      entry.count++
      if (entry.count <= FREE_GUESSES) return respond(0)
      const retryAfterSeconds = Math.max(1, Math.ceil((entry.startMs + PERIOD_MS - now()) / 1000))
      if (held >= MAX_HELD) return respond(retryAfterSeconds)
      held++
      setTimeout(() => {
        held--
        respond(retryAfterSeconds)
      }, HOLD_MS)
    },
  }
}
