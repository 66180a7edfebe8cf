/**
 * Looks at once, and again so long after the last look has ended, until it is told to stop: a service that answers late
 * is not asked by more and more at a time.
 */
export function keepLooking(look: (signal: AbortSignal) => Promise<void>, pauseMs: number): () => void {
  const leaving = new AbortController()
  const { signal } = leaving

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await look(signal)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  void run()
  return () => leaving.abort()
}
