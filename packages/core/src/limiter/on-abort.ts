/** The part of `AbortSignal` that `wait` uses. Declared here because the global type depends on the platform. */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason?: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

interface Listeners {
  readonly runs: Set<() => void>
  readonly onAbort: () => void
}

/** One listener per signal, because Node.js warns about more than ten. */
const listenersOf = new WeakMap<AbortSignalLike, Listeners>()

/** Calls `run` when the signal aborts. Returns a function that removes this callback. */
export function onAbort(signal: AbortSignalLike, run: () => void): () => void {
  let listeners = listenersOf.get(signal)
  if (listeners === undefined) {
    const runs = new Set<() => void>()
    listeners = { runs, onAbort: () => runs.forEach((each) => void each()) }
    listenersOf.set(signal, listeners)
    signal.addEventListener('abort', listeners.onAbort)
  }
  const { runs, onAbort } = listeners
  runs.add(run)
  return () => {
    if (!runs.delete(run) || runs.size > 0) return
    listenersOf.delete(signal)
    signal.removeEventListener('abort', onAbort)
  }
}
