import {
  type AsyncStore,
  assertOptions,
  type Call,
  type Clock,
  type Decision,
  eventLoopTime,
  type RefundRequest,
  type ResetRequest,
  type Store,
  type StoreTraits,
  show,
  type TakeRequest,
  type TakeResult,
  TidegateError,
  withDenialCache,
} from '@tidegate/core'
import calculateSlot from 'cluster-key-slot'
import { createBatcher } from './batcher.js'
import { warnIfItResends } from './client-warning.js'
import { CONNECT_TIMEOUT_MS, type ConnectOptions, connect } from './connect.js'
import {
  connectionOf,
  type IoredisClient,
  type NodeRedisClient,
  type NodeRedisCluster,
  type RedisConnection,
} from './connection.js'
import { assertPrefix, DEFAULT_PREFIX } from './keys.js'
import { createScriptStore } from './script-store.js'
import { keepCommands } from './store-commands.js'
import { TIME_DOOR } from './time-door.js'

export interface RedisStoreOptions extends ConnectOptions {
  /** The prefix of every key in Redis. Default: `rate_limiter`. */
  prefix?: string
  /** The most limits decided in one call; 1 sends every check separately. Default: 64. */
  maxBatch?: number
  /** The longest that a denial is answered from the cache, in milliseconds; 0 turns the cache off. Default: 1000. */
  rememberRefusalsMs?: number
  /** The most denials in the cache. Default: 100,000. */
  maxRemembered?: number
}

const CONNECT_OPTIONS = ['username', 'password', 'tls', 'connectTimeoutMs']
const OPTIONS = ['prefix', 'maxBatch', 'rememberRefusalsMs', 'maxRemembered', ...CONNECT_OPTIONS]

/**
 * State in Redis, shared exactly by every process that uses it: each check is one atomic script. Denials are cached
 * for a moment: see `withDenialCache`.
 */
export class RedisStore implements AsyncStore {
  readonly traits: StoreTraits
  readonly #store: Store

  /** `redis://`, `rediss://`, `redis+sentinel://h1,h2/name`, `redis+cluster://h1,h2`, or a client of your own. */
  constructor(
    redis: string | IoredisClient | NodeRedisClient | NodeRedisCluster,
    options: RedisStoreOptions = {},
  ) {
    const { prefix, maxBatch, rememberRefusalsMs, maxRemembered, connectTimeoutMs } = parse(options)
    const connection = connectionTo(redis, options)
    keepCommands(this, connection, prefix)
    const slotOf = connection.isCluster ? calculateSlot : () => 0
    const clock = (options as { [TIME_DOOR]?: Clock })[TIME_DOOR]
    const timeUs = clock === undefined ? () => 0 : () => clock.nowUs()
    const loop = eventLoopTime(() => performance.now())
    const batcher = createBatcher({ connection, maxBatch, slotOf, timeUs, maxWaitMs: connectTimeoutMs, loop })
    const scriptStore = createScriptStore({
      connection,
      batcher,
      prefix,
      slotOf,
      readyTimeoutMs: 2 * connectTimeoutMs,
      giveBack: (request) => this.refund(request),
    })
    this.#store = withDenialCache(scriptStore, {
      capMs: rememberRefusalsMs,
      maxKeys: maxRemembered,
      except: scriptStore.lostRace,
      ...(clock === undefined ? {} : { now: () => clock.nowUs() / 1000 }),
    })
    this.traits = this.#store.traits!
  }

  async check(request: TakeRequest, call?: Call): Promise<Decision> {
    return this.#store.check(request, call)
  }

  /** A limit has no decision if the cached denial of another limit had already denied the take. */
  async take(requests: readonly TakeRequest[], call?: Call): Promise<TakeResult> {
    return this.#store.take(requests, call)
  }

  async peek(request: TakeRequest, call?: Call): Promise<Decision> {
    return this.#store.peek(request, call)
  }

  async refund(request: RefundRequest, call?: Call): Promise<number> {
    return this.#store.refund(request, call)
  }

  async reset(request: ResetRequest, call?: Call): Promise<void> {
    return this.#store.reset(request, call)
  }

  /** Resolves once Redis can decide; rejects with `STORE_FAILED` and the reason if it cannot. */
  ready(): Promise<void> {
    return this.traits.ready!()
  }

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

const MAX_MAX_REMEMBERED = 10_000_000
const MAX_CONNECT_TIMEOUT_MS = 60_000

function parse(options: RedisStoreOptions) {
  assertOptions('new RedisStore()', options, OPTIONS)
  const {
    prefix = DEFAULT_PREFIX,
    maxBatch = 64,
    rememberRefusalsMs = 1000,
    maxRemembered = 100_000,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
  } = options
  assertPrefix(prefix)
  assertWhole('maxBatch', maxBatch, 1000, '64')
  if (!Number.isFinite(rememberRefusalsMs) || rememberRefusalsMs < 0) {
    throw new TidegateError(
      'OPTION_INVALID',
      `rememberRefusalsMs must be milliseconds from 0 up, got ${show(rememberRefusalsMs)}. The default is 1000.`,
      { field: 'rememberRefusalsMs' },
    )
  }
  assertWhole('maxRemembered', maxRemembered, MAX_MAX_REMEMBERED, '100,000')
  assertWhole('connectTimeoutMs', connectTimeoutMs, MAX_CONNECT_TIMEOUT_MS, '1000')
  for (const [field, kind, what] of [
    ['username', 'string', 'a string'],
    ['password', 'string', 'a string'],
    ['tls', 'object', 'an object of TLS options'],
  ] as const) {
    const value = options[field]
    if (value === undefined || (typeof value === kind && value !== null)) continue
    // Without the value: it may be a secret, and the message may be logged.
    throw new TidegateError('OPTION_INVALID', `${field} must be ${what}. The default is none.`, { field })
  }
  return Object.freeze({ prefix, maxBatch, rememberRefusalsMs, maxRemembered, connectTimeoutMs })
}

function assertWhole(field: string, value: number, max: number, byDefault: string): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return
  throw new TidegateError(
    'OPTION_INVALID',
    `${field} must be a whole number from 1 to ${max}, got ${show(value)}. The default is ${byDefault}.`,
    { field },
  )
}
