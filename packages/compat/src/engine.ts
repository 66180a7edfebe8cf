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

/** A store, which counts by the limits in the library's options, or a limiter, which counts by its own policy. */
export type LimiterOrStore = Limiter | Store

/** Options of `tidegateStore`. */
export interface TidegateStoreOptions {
  /** The name under which the store keeps the counts. Not with a limiter. Default: generated from the numbers. */
  name?: string
  /**
   * The behaviour while the store is unavailable: `'open'` allows, `'closed'` fails the request, `'local'` counts in this
   * process. Default: the library's own option, or `'open'` if it has none. Not with a limiter, whose policy decides.
   */
  onStoreFailure?: OnStoreFailure
}

/** The limiters behind one store of a library. */
export interface Engine {
  /** The limiter that was passed; undefined for a store. */
  readonly limiter: Limiter | undefined
  readonly isInProcess: boolean
  /** Returns the limiter for these numbers. Default policy: windows that begin with the first request. */
  limiterFor(numbers: PolicyNumbers, define?: (numbers: PolicyNumbers) => Policy): Limiter
}

export function createEngine(limiterOrStore: LimiterOrStore = new MemoryStore()): Engine {
  const limiter = isLimiter(limiterOrStore) ? limiterOrStore : undefined
  if (limiter !== undefined) assertRatePolicy(limiter.policy, 'tidegateStore')
  // Creating a limiter rejects a value that is not a store, with the line to write instead.
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

/** Creates a limiter. Its `POLICY_UNNAMED` error has the numbers of the library's options. */
function createNamedLimiter(policy: Policy, store: Store, { limit, windowMs }: PolicyNumbers): Limiter {
  try {
    return createLimiter({ policy, store })
  } catch (error) {
    if (!(error instanceof TidegateError) || error.code !== 'POLICY_UNNAMED') throw error
    const numbers = limit === COUNT_ALL ? '' : `limit ${limit} and `
    throw new TidegateError(
      'POLICY_UNNAMED',
      `Two limits with ${numbers}a window of ${windowMs} ms on one store have no name, so they would share one count. Give each a name, for example tidegateStore(store, { name: 'login' }). To share one count on purpose, give both the same name.`,
      { field: 'name' },
    )
  }
}

/** Bounded, because limits and windows can be functions of the request. */
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
  // Validates the options immediately, because the library's numbers may only be known at the first request.
  windowPolicy({ limit: 1, windowMs: 1000, ...options })
  return options
}

function isLimiter(value: LimiterOrStore | undefined): value is Limiter {
  return typeof value === 'object' && value !== null && 'policy' in value && 'check' in value
}

/** Rejects a limiter with another limit, because the library denies by its own limit. */
function assertSameLimit({ name, limit }: Policy, libraryLimit: unknown): void {
  if (libraryLimit === limit) return
  throw new TidegateError(
    'OPTION_INVALID',
    `The limit of the library's options must be that of the limiter's policy "${name}", ${limit}, got ${show(libraryLimit)}. Write ${limit}, or pass a store instead of a limiter.`,
    { field: 'limit' },
  )
}
