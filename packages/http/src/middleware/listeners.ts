import { show, warn } from '@tidegate/core'

/**
 * Calls a listener without waiting for it. A listener that throws or rejects does not fail the request; its error becomes
 * a warning of the process, once for each different message.
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

/** Messages can hold values of requests, so their number is bounded. */
const MAX_REPORTED = 10
