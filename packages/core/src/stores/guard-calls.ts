import type { MaybePromise, RefundRequest, ResetRequest, Store, TakeRequest } from './store.js'

/** What a call is about. Nobody has looked at it yet: it may be anything. */
export type Asked = ResetRequest | readonly ResetRequest[]

/** Stands between a caller and a store: it may call, or throw instead, and sees what comes of it. */
export type Guard = <R extends Asked, T>(call: (request: R) => MaybePromise<T>, request: R) => MaybePromise<T>

/** The same store with a guard in front of every call but `close`. */
export function guardCalls(store: Store, guard: Guard): Store {
  // Made once: a closure for each call would cost more than some guards do.
  const check = (request: TakeRequest) => store.check(request)
  const take = (requests: readonly TakeRequest[]) => store.take(requests)
  const peek = (request: TakeRequest) => store.peek(request)
  const refund = (request: RefundRequest) => store.refund(request)
  const reset = (request: ResetRequest) => store.reset(request)
  return {
    check: (request) => guard(check, request),
    take: (requests) => guard(take, requests),
    peek: (request) => guard(peek, request),
    refund: (request) => guard(refund, request),
    reset: (request) => guard(reset, request),
    close: () => store.close(),
    ...(store.partOf && { partOf: (request: ResetRequest) => store.partOf!(request) }),
    ...(store.onReachable && { onReachable: (listener: () => void) => store.onReachable!(listener) }),
  }
}

export function isPromise<T>(answer: MaybePromise<T>): answer is Promise<T> {
  return typeof (answer as Promise<T> | undefined)?.then === 'function'
}
