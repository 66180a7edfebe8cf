/*
 * What is done at the end of a turn of the event loop, together with all else that came in it: first everything that has
 * arrived is read and decided, then everything is answered. To answer each request before the next is read costs a busy
 * server more, above all because whoever waits is woken up for each by itself. A request that comes alone waits for
 * nothing.
 */

interface Waiting {
  act: () => void
  failed: (error: unknown) => void
}

let waiting: Waiting[] = []

/** `failed` is told what is thrown: the others are done nevertheless. */
export function atEndOfTurn(act: () => void, failed: (error: unknown) => void): void {
  if (waiting.push({ act, failed }) === 1) setImmediate(actAll)
}

function actAll(): void {
  const all = waiting
  waiting = []
  for (const { act, failed } of all) {
    try {
      act()
    } catch (error) {
      failed(error)
    }
  }
}
