import { type Clock, systemClock } from '../clock.js'
import { assertOptions, show, TidegateError } from '../errors.js'

/** Options of `MemoryStore`. */
export interface MemoryStoreOptions {
  /** The clock of the store. Default: the machine's wall clock. */
  clock?: Clock
  /** The maximum number of keys, over all policies, and of blocks. Default: 1,000,000. */
  maxKeys?: number
}

export function parseOptions(options: MemoryStoreOptions): Required<MemoryStoreOptions> {
  assertOptions('new MemoryStore()', options, ['clock', 'maxKeys'])
  const { clock = systemClock, maxKeys = 1_000_000 } = options
  if (typeof clock?.nowUs !== 'function') {
    throw new TidegateError(
      'OPTION_INVALID',
      `clock must be an object with nowUs(), got ${show(clock)}. Write for example clock: new ManualClock(), or leave it out for the machine's clock.`,
      { field: 'clock' },
    )
  }
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MAX_MAX_KEYS) {
    throw new TidegateError(
      'OPTION_INVALID',
      `maxKeys must be a whole number from 1 to ${MAX_MAX_KEYS.toLocaleString('en')}, got ${show(maxKeys)}. Leave it out for 1,000,000.`,
      { field: 'maxKeys' },
    )
  }
  return { clock, maxKeys }
}

const MAX_MAX_KEYS = 1_000_000_000
