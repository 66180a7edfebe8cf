import {
  type AsyncStore,
  assertOptions,
  type BlockRequest,
  type Call,
  type Clock,
  type Decision,
  type DenialCachingStore,
  eventLoopTime,
  type JointReservation,
  jointReservationOf,
  numberOption,
  optionInvalid,
  parseReserve,
  type RefundRequest,
  type ReserveOptions,
  type ResetRequest,
  type SettleResult,
  type SlotRequest,
  type StoreTraits,
  settleIfHeld,
  show,
  type TakeRequest,
  type TakeResult,
  type TakeUpToRequest,
  type TakeUpToResult,
  withDenialCache,
} from '@tidegate/core'
import calculateSlot from 'cluster-key-slot'
import {
  connectionOf,
  type IoredisClient,
  type NodeRedisClient,
  type NodeRedisCluster,
  type RedisConnection,
} from './connection/adapters.js'
import { warnIfItResends } from './connection/client-warning.js'
import { CONNECT_TIMEOUT_MS, type ConnectOptions, connect } from './connection/connect.js'
import { assertPrefix, DEFAULT_PREFIX } from './keys.js'
import { createBatcher } from './script/batcher.js'
import { nodeTest } from './script/node-test.js'
import { createScriptStore } from './script/script-store.js'
import { keepCommands } from './store-commands.js'
import { TEST_CLOCK } from './test-clock.js'

/** Options of `RedisStore`. */
export interface RedisStoreOptions extends ConnectOptions {
  /** The prefix of every key in Redis. Default: `'rate_limiter'`. */
  prefix?: string
  /** The maximum number of limits in one call, 1 to 1,000; 1 sends every check separately. Default: 64. */
  maxBatch?: number
  /** Options for Redis Cluster. Default: `{ batchBy: 'node' }`. */
  cluster?: ClusterOptions
  /** The maximum time that a denial is cached, in milliseconds; 0 disables the cache. Default: 1000. */
  denialCacheMs?: number
  /** The maximum number of cached denials. Default: 100,000. */
  maxCachedDenials?: number
}

/** Options of `RedisStore` for Redis Cluster. */
export interface ClusterOptions {
  /**
   * How to batch checks. `'node'`: one call for all slots of a node, without declaring the keys. `'slot'`: separate calls
   * for each slot, which declare the keys. Default: `'node'`, but `'slot'` for nodes that do not accept undeclared keys.
   */
  batchBy?: 'node' | 'slot'
}

const CONNECT_OPTIONS = ['username', 'password', 'tls', 'connectTimeoutMs']
const OPTIONS = ['prefix', 'maxBatch', 'cluster', 'denialCacheMs', 'maxCachedDenials', ...CONNECT_OPTIONS]

/**
 * A store in Redis or Valkey, which all processes share exactly: each check is one atomic script. Checks that arrive together
 * are sent in one call. Denials are cached: see `withDenialCache`.
 *
 * @example
 * ```ts
 * import { createLimiter, fixedWindow } from '@tidegate/core'
 * import { RedisStore } from '@tidegate/redis'
 *
 * const store = new RedisStore('redis://localhost:6379')
 * const limiter = createLimiter({ store, policy: fixedWindow({ limit: 100, window: '1m', name: 'api' }) })
 * const { allowed } = await limiter.check('user:123')
 * ```
 */
export class RedisStore implements AsyncStore {
  readonly traits: StoreTraits
  readonly #store: DenialCachingStore

  /**
   * `redis` is a URL (`redis://host`, `rediss://host`, `redis+sentinel://host1,host2/name` or
   * `redis+cluster://host1,host2`), or an ioredis or node-redis client of your own, which the store does not close.
   */
  constructor(
    redis: string | IoredisClient | NodeRedisClient | NodeRedisCluster,
    options: RedisStoreOptions = {},
  ) {
    const { prefix, maxBatch, batchBy, denialCacheMs, maxCachedDenials, connectTimeoutMs } = parse(options)
    const connection = connectionTo(redis, options)
    keepCommands(this, connection, prefix)
    const slotOf = connection.isCluster ? calculateSlot : () => 0
    const clock = (options as { [TEST_CLOCK]?: Clock })[TEST_CLOCK]
    const timeUs = clock === undefined ? () => 0 : () => clock.nowUs()
    const loop = eventLoopTime(() => performance.now())
    const { nodeOf, sendTo } = connection
    const isByNode = batchBy === 'node' && nodeOf !== undefined && sendTo !== undefined
    const testOf = isByNode ? (node: string) => nodeTest(prefix, node, slotOf, nodeOf) : undefined
    const maxWaitMs = connectTimeoutMs
    const batcher = createBatcher({ connection, maxBatch, slotOf, timeUs, maxWaitMs, loop, testOf })
    const scriptStore = createScriptStore({
      connection,
      batcher,
      prefix,
      slotOf,
      readyTimeoutMs: 2 * connectTimeoutMs,
      giveBack: (request) => this.refund(request),
    })
    this.#store = withDenialCache(scriptStore, {
      capMs: denialCacheMs,
      maxKeys: maxCachedDenials,
      except: scriptStore.hasLostRace,
      ...(clock === undefined ? {} : { now: () => clock.nowUs() / 1000 }),
    })
    this.traits = this.#store.traits!
  }

  check(request: TakeRequest, call?: Call): Promise<Decision> {
    // Not `async`: that would be one more promise for each check.
    try {
      return Promise.resolve(this.#store.check(request, call))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Decisions can be undefined: see `TakeResult`. */
  async take(requests: readonly TakeRequest[], call?: Call): Promise<TakeResult> {
    return this.#store.take(requests, call)
  }

  async peek(request: TakeRequest, call?: Call): Promise<Decision> {
    return this.#store.peek(request, call)
  }

  async refund(request: RefundRequest, call?: Call): Promise<number> {
    return this.#store.refund(request, call)
  }

  async charge(request: TakeRequest, call?: Call): Promise<Decision> {
    return this.#store.charge(request, call)
  }

  async takeUpTo(request: TakeUpToRequest, call?: Call): Promise<TakeUpToResult> {
    return this.#store.takeUpTo(request, call)
  }

  async block(request: BlockRequest, call?: Call): Promise<void> {
    return this.#store.block(request, call)
  }

  /** Reserves units of every limit or of none. Any process can settle them by the reservation's id. */
  async reserve(
    requests: readonly TakeRequest[],
    options?: ReserveOptions,
    call?: Call,
  ): Promise<JointReservation<Promise<SettleResult[]>>> {
    const { limits, id, ttlMs, maxOpen } = parseReserve(requests, options)
    const result = await this.#store.reserve(requests, { id, ttl: ttlMs, maxOpen }, call)
    return jointReservationOf(result, limits, async (actual) =>
      settleIfHeld(result, () => this.settle(limits, id, actual)),
    )
  }

  async settle(
    requests: readonly ResetRequest[],
    id: string,
    actual: readonly number[],
    call?: Call,
  ): Promise<SettleResult[]> {
    return this.#store.settle(requests, id, actual, call)
  }

  async release(slots: readonly SlotRequest[], call?: Call): Promise<boolean[]> {
    return this.#store.release(slots, call)
  }

  async renew(slots: readonly SlotRequest[], call?: Call): Promise<(boolean | undefined)[]> {
    return this.#store.renew(slots, call)
  }

  async reset(request: ResetRequest, call?: Call): Promise<void> {
    return this.#store.reset(request, call)
  }

  /** Resolves once Redis is available; rejects with `STORE_FAILED` and the reason if it is not. */
  ready(): Promise<void> {
    return this.traits.ready!()
  }

  /** Closes the connection, unless it is a client of your own. Later calls fail with `STORE_FAILED`. */
  async close(): Promise<void> {
    return this.#store.close()
  }
}

function connectionTo(redis: unknown, options: ConnectOptions): RedisConnection {
  if (typeof redis === 'string') return connect(redis, options)
  const connection = connectionOf(redis)
  warnIfItResends(redis as object)
  return connection
}

/** 366 days: no window is longer. */
const MAX_DENIAL_CACHE_MS = 31_622_400_000
const MAX_MAX_CACHED_DENIALS = 10_000_000
const MAX_CONNECT_TIMEOUT_MS = 60_000

function parse(options: RedisStoreOptions) {
  assertOptions('new RedisStore()', options, OPTIONS)
  const { prefix = DEFAULT_PREFIX, cluster = {} } = options
  assertPrefix(prefix)
  assertOptions('cluster of new RedisStore()', cluster, ['batchBy'])
  const { batchBy = 'node' } = cluster
  if (batchBy !== 'node' && batchBy !== 'slot') {
    const message = `cluster.batchBy must be 'node' or 'slot', got ${show(batchBy)}. Leave it out for 'node'.`
    throw optionInvalid('cluster.batchBy', message)
  }
  const whole = (
    field: 'maxBatch' | 'maxCachedDenials' | 'connectTimeoutMs',
    to: number,
    otherwise: number,
  ) => numberOption(field, options[field], { from: 1, to, otherwise, isWhole: true })
  for (const [field, kind, rule] of [
    ['username', 'string', 'a string'],
    ['password', 'string', 'a string'],
    ['tls', 'object', 'an object of TLS options such as { ca }'],
  ] as const) {
    const value = options[field]
    if (value === undefined || (typeof value === kind && value !== null)) continue
    // Without the value, which may be a secret.
    throw optionInvalid(field, `${field} must be ${rule}, got a value of the type ${typeof value}.`)
  }
  return Object.freeze({
    prefix,
    batchBy,
    maxBatch: whole('maxBatch', 1000, 64),
    denialCacheMs: numberOption('denialCacheMs', options.denialCacheMs, {
      from: 0,
      to: MAX_DENIAL_CACHE_MS,
      otherwise: 1000,
    }),
    maxCachedDenials: whole('maxCachedDenials', MAX_MAX_CACHED_DENIALS, 100_000),
    connectTimeoutMs: whole('connectTimeoutMs', MAX_CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS),
  })
}
