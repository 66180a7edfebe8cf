/** Waits, but no longer than until the signal says to stop; then it rejects with the signal's reason. */
export type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<void>

export const wait: Wait = (ms, signal) =>
  new Promise((resolve, reject) => {
    const endMs = performance.now() + ms
    let timer: ReturnType<typeof setTimeout>

    function stop(): void {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    function look(): void {
      const leftMs = endMs - performance.now()
      // A timer may be up to a millisecond early, and we never are.
      if (leftMs > 0) {
        timer = setTimeout(look, Math.ceil(leftMs))
        return
      }
      signal?.removeEventListener('abort', stop)
      resolve()
    }

    if (signal?.aborted) return reject(signal.reason)
    signal?.addEventListener('abort', stop, { once: true })
    look()
  })
