import { type Clock, systemClock } from '../clock.js'
import { assertOptions, show, TidegateError } from '../errors.js'

export interface MemoryStoreOptions {
  /** The clock that decisions are made by. Default: the machine's clock. */
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
      `clock must have nowUs(), got ${show(clock)}. Leave it out for the machine's clock.`,
      { field: 'clock' },
    )
  }
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MAX_MAX_KEYS) {
    throw new TidegateError(
      'OPTION_INVALID',
      `maxKeys must be a whole number from 1 to ${MAX_MAX_KEYS}, got ${show(maxKeys)}. Leave it out for 1,000,000.`,
      { field: 'maxKeys' },
    )
  }
  return { clock, maxKeys }
}

const MAX_MAX_KEYS = 1_000_000_000
