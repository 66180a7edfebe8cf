import { ManualClock, MemoryStore, type Store, TidegateError } from '@tidegate/core'

/** A fixed time at which every window begins. */
export const NOON_MS = Date.parse('2030-01-01T12:00:00Z')

export function memoryStore(): MemoryStore {
  return new MemoryStore({ clock: new ManualClock(NOON_MS) })
}

/** The same, but with promises. */
export function promisingStore(): Store {
  const store = memoryStore()
  return {
    check: async (request) => store.check(request),
    take: async (requests) => store.take(requests),
    peek: async (request) => store.peek(request),
    refund: async (request) => store.refund(request),
    reset: async (request) => store.reset(request),
    close: async () => store.close(),
  }
}

/** Every call fails. */
export function failingStore(): Store {
  const fail = async (): Promise<never> => {
    throw new TidegateError('STORE_FAILED', 'down')
  }
  return { check: fail, take: fail, peek: fail, refund: fail, reset: fail, close: async () => {} }
}
