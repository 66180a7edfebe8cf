import { show, warn } from '@tidegate/core'

/**
 * Wraps a listener so that it is not awaited, and its errors do not fail the request. Each different error message becomes
 * one process warning.
 */
export function defineListener<Event>(
  name: string,
  listener: ((event: Event) => unknown) | undefined,
): ((event: Event) => void) | undefined {
  if (listener === undefined) return undefined
  const reported = new Set<string>()

  function report(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? String(error)) : show(error)
    const message = error instanceof Error ? error.message : text
    if (reported.has(message) || reported.size >= MAX_REPORTED) return
    reported.add(message)
    warn('LISTENER_FAILED', `${name} threw an error, which does not change the decision: ${text}`)
  }

  return (event) => {
    try {
      const result = listener(event)
      if (typeof (result as Promise<unknown> | undefined)?.then === 'function') {
        ;(result as Promise<unknown>).then(undefined, report)
      }
    } catch (error) {
      report(error)
    }
  }
}

/** Bounded, because messages can contain values of requests. */
const MAX_REPORTED = 10
