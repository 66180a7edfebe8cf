/** Resolves after the delay, or rejects with the signal's reason when the signal aborts. */
export type Wait = (ms: number, signal: AbortSignal | undefined) => Promise<void>

export const wait: Wait = (ms, signal) =>
  new Promise((resolve, reject) => {
    const endMs = performance.now() + ms
    let timer: ReturnType<typeof setTimeout>

    function stop(): void {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    function checkTime(): void {
      const leftMs = endMs - performance.now()
      // A timer may fire up to a millisecond early.
      if (leftMs > 0) {
        timer = setTimeout(checkTime, Math.ceil(leftMs))
        return
      }
      signal?.removeEventListener('abort', stop)
      resolve()
    }

    if (signal?.aborted) return reject(signal.reason)
    signal?.addEventListener('abort', stop, { once: true })
    checkTime()
  })
