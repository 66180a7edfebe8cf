import type { MaybePromise } from '@tidegate/core'

/*
 * A store in this process answers at once, and a promise for each step would cost more than the answer. So
 * every step takes what is there, or waits for what is not.
 */

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function'
}

/** Every item through one step. If one throws while others are still promised, those are not left alone. */
export function whenAll<T, R>(items: readonly T[], step: (item: T) => MaybePromise<R>): MaybePromise<R[]> {
  const results: MaybePromise<R>[] = []
  try {
    for (const item of items) results.push(step(item))
  } catch (error) {
    results.push(Promise.reject(error))
  }
  return results.some(isPromise) ? Promise.all(results) : (results as R[])
}

/** The next step with this value: now if it is there, later if it is promised. */
export function when<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value)
}
