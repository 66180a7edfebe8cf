import { failed } from './service.js'

/**
 * Lets a bounded number of calls through at a time; the others wait their turn, and fail when it comes too late
 * for them. Each call has a connection of its own, and a flood must not open thousands.
 */
export function createCallGate(maxCalls: number, patienceMs: () => number) {
  const waiting: { madeMs: number; go(): void; reject(error: unknown): void }[] = []
  let calls = 0

  function next(): void {
    while (calls < maxCalls && waiting.length > 0) {
      const { madeMs, go, reject } = waiting.shift()!
      if (performance.now() - madeMs > patienceMs()) reject(failed('it could not be asked in time'))
      else go()
    }
  }

  return <T>(call: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      function go(): void {
        calls++
        call()
          .then(resolve, reject)
          .finally(() => {
            calls--
            next()
          })
      }
      waiting.push({ madeMs: performance.now(), go, reject })
      next()
    })
}
