/** Virtual time that advances when all tasks wait, so that tests of long backoffs are fast and exact. */
export function createVirtualTime(startMs: number) {
  let nowMs = startMs
  let timers: { atMs: number; go(): void }[] = []

  function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const timer = { atMs: nowMs + ms, go: resolve }
      timers.push(timer)
      signal?.addEventListener('abort', () => {
        timers = timers.filter((other) => other !== timer)
        reject(signal.reason)
      })
    })
  }

  /** Advances time until the task is done. */
  async function run<T>(doing: Promise<T>): Promise<T> {
    let isDone = false
    const mark = () => {
      isDone = true
    }
    doing.then(mark, mark)
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      if (isDone) return doing
      const next = timers.reduce((one, other) => (other.atMs < one.atMs ? other : one), timers[0]!)
      if (next === undefined) continue
      timers = timers.filter((timer) => timer !== next)
      nowMs = Math.max(nowMs, next.atMs)
      next.go()
    }
  }

  return { now: () => nowMs, wait, run }
}
