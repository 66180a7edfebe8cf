/** The platform's `AbortSignal`, in a form that also compiles without its global type. */
export type AbortSignal = typeof globalThis extends { AbortSignal: { prototype: infer S } }
  ? S
  : { readonly aborted: boolean; readonly reason: unknown }

/** An `AbortController` that is created when its signal is first read, because most holders of a slot never read it. */
export function createAbort() {
  let controller: Controller | undefined
  let reason: unknown
  return {
    signal(): AbortSignal {
      if (controller === undefined) {
        controller = new platform.AbortController()
        if (reason !== undefined) controller.abort(reason)
      }
      return controller.signal
    },
    /** Only the first call has an effect. */
    abort(cause: unknown): void {
      reason ??= cause
      controller?.abort(reason)
    },
  }
}

interface Controller {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

const platform = globalThis as unknown as { AbortController: new () => Controller }
