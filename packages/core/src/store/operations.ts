import { TidegateError } from '../errors.js'
import type { FullStore } from './full-store.js'
import type { Store } from './store.js'

/** An operation of `FullStore` that not every store has. */
export type Operation = Exclude<keyof FullStore, keyof Store>

/** Throws `OPERATION_UNSUPPORTED` if the store does not implement the operation. */
export function assertOperation<K extends Operation>(
  store: Store,
  operation: K,
): asserts store is Store & Pick<FullStore, K> {
  if (typeof (store as Partial<FullStore>)[operation] === 'function') return
  throw new TidegateError(
    'OPERATION_UNSUPPORTED',
    `This store has no ${operation}(). Use MemoryStore or RedisStore, or implement ${operation} of FullStore.`,
    { field: 'store' },
  )
}
