import type { MaybePromise } from '@tidegate/core'

/*
 * A store in this process answers at once, and a promise for each step would cost more than the answer. So
 * every step takes what is there, or waits for what is not.
 */

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}

/** The next step with this value: now if it is there, later if it is promised. */
export function when<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value)
}
