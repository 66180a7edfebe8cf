import {
  assertOptions,
  assertRatePolicy,
  createLimiter,
  type Limiter,
  MemoryStore,
  type OnStoreFailure,
  optionInvalid,
  type Policy,
  type Store,
  show,
  TidegateError,
} from '@tidegate/core'
import { COUNT_ALL, type PolicyNumbers, windowPolicy } from './policies.js'

/** A store counts by the numbers of the library's options. A limiter counts by its own policy. */
export type LimiterOrStore = Limiter | Store

export interface TidegateStoreOptions {
  /** The name under which the store keeps the counts. Not with a limiter. Default: a name made of the numbers. */
  name?: string
  /**
   * What to do when the store is unavailable: `'open'` allows, `'closed'` fails the request, `'local'` counts in this
   * process. Default: the library's own option, or `'open'` if it has none. Not with a limiter: its policy has it.
   */
  onStoreFailure?: OnStoreFailure
}

/** The limiters behind one store of a library. */
export interface Engine {
  /** The limiter that was passed; undefined for a store. */
  readonly limiter: Limiter | undefined
  readonly isInProcess: boolean
  /** The limiter for these numbers, of windows that start with the first request unless `define` makes others. */
  limiterFor(numbers: PolicyNumbers, define?: (numbers: PolicyNumbers) => Policy): Limiter
}

export function createEngine(limiterOrStore: LimiterOrStore = new MemoryStore()): Engine {
  const limiter = isLimiter(limiterOrStore) ? limiterOrStore : undefined
  if (limiter !== undefined) assertRatePolicy(limiter.policy, 'tidegateStore')
  // The probe rejects a value that is not a store, with the line to write instead.
  const { store } = limiter ?? createLimiter({ policy: PROBE, store: limiterOrStore as Store })
  const limiters = new Map<string, Limiter>()

  return {
    limiter,
    isInProcess: store.traits?.kind === 'in-process',

    limiterFor(numbers, define = windowPolicy) {
      if (limiter !== undefined) {
        assertSameLimit(limiter.policy, numbers.limit)
        return limiter
      }
      const id = [
        numbers.name,
        numbers.limit,
        numbers.windowMs,
        numbers.blockForMs,
        numbers.onStoreFailure,
      ].join()
      let found = limiters.get(id)
      if (found === undefined) {
        if (limiters.size >= MAX_LIMITERS) limiters.clear()
        found = createNamedLimiter(define(numbers), store, numbers)
        limiters.set(id, found)
      }
      return found
    },
  }
}

/** `POLICY_UNNAMED` names the numbers of the library's options and the place for the name. */
function createNamedLimiter(policy: Policy, store: Store, { limit, windowMs }: PolicyNumbers): Limiter {
  try {
    return createLimiter({ policy, store })
  } catch (error) {
    if (!(error instanceof TidegateError) || error.code !== 'POLICY_UNNAMED') throw error
    const numbers = limit === COUNT_ALL ? '' : `limit ${limit} and `
    throw new TidegateError(
      'POLICY_UNNAMED',
      `Two limits with ${numbers}a window of ${windowMs} ms on one store have no name, so they would share one count. Give each a name, for example tidegateStore(store, { name: 'login' }); to share one count on purpose, give both the same name.`,
      { field: 'name' },
    )
  }
}

/** Limits and windows can be functions of the request, so their number has no bound of its own. */
const MAX_LIMITERS = 1000

const PROBE = windowPolicy({ limit: 1, windowMs: 1000, name: 'compat-probe' })

export function parseOptions(
  options: TidegateStoreOptions,
  limiterOrStore: LimiterOrStore | undefined,
): TidegateStoreOptions {
  assertOptions('tidegateStore()', options, ['name', 'onStoreFailure'])
  for (const field of ['name', 'onStoreFailure'] as const) {
    const value = options[field]
    if (value === undefined || !isLimiter(limiterOrStore)) continue
    throw optionInvalid(
      field,
      `${field} belongs to the limiter's policy. Write it there, for example fixedWindow({ limit: 100, window: '1m', ${field}: ${show(value)} }), or pass a store: tidegateStore(store, { ${field}: ${show(value)} }).`,
    )
  }
  // Validated at once: the library's own numbers may come only with the first request.
  windowPolicy({ limit: 1, windowMs: 1000, ...options })
  return options
}

function isLimiter(value: LimiterOrStore | undefined): value is Limiter {
  return typeof value === 'object' && value !== null && 'policy' in value && 'check' in value
}

/** The library denies by its own limit, the limiter by its policy's. */
function assertSameLimit({ name, limit }: Policy, libraryLimit: unknown): void {
  if (libraryLimit === limit) return
  throw new TidegateError(
    'OPTION_INVALID',
    `The limit of the library's options must be that of the limiter's policy "${name}", ${limit}, got ${show(libraryLimit)}. Write ${limit}, or pass a store instead of a limiter.`,
    { field: 'limit' },
  )
}
