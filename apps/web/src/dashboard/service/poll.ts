/**
 * Calls `request` at once, and again `pauseMs` after it has ended, until the returned function is called. A slow service
 * never has more than one request waiting.
 */
export function poll(request: (signal: AbortSignal) => Promise<void>, pauseMs: number): () => void {
  const controller = new AbortController()
  const { signal } = controller

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await request(signal)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  void run()
  return () => controller.abort()
}
