import { type Call, storeFailed } from '@tidegate/core'

/**
 * Bounds the calls in flight, because each call has its own connection. Further calls wait in a queue, and fail if their
 * caller has stopped waiting.
 */
export function createCallGate(maxCalls: number, maxWaitMs: number) {
  const waiting: { call: Call | undefined; madeMs: number; go(): void; reject(error: unknown): void }[] = []
  let calls = 0

  function next(): void {
    while (calls < maxCalls && waiting.length > 0) {
      const { call, madeMs, go, reject } = waiting.shift()!
      const isWanted = call === undefined ? performance.now() - madeMs <= maxWaitMs : !call.abandoned
      if (isWanted) go()
      else reject(storeFailed('overload', 'The call waited too long in the queue of this process.'))
    }
  }

  return <T>(call: Call | undefined, send: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      function go(): void {
        calls++
        send()
          .then(resolve, reject)
          .finally(() => {
            calls--
            next()
          })
      }
      waiting.push({ call, madeMs: performance.now(), go, reject })
      next()
    })
}
