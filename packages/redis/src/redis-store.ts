import {
  assertOptions,
  type Clock,
  type Decision,
  type RefundRequest,
  type ResetRequest,
  rememberRefusals,
  type Store,
  show,
  type TakeRequest,
  type TakeResult,
  TidegateError,
} from '@tidegate/core'
import calculateSlot from 'cluster-key-slot'
import { createBareStore } from './bare-store.js'
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
import { keepCommands } from './store-commands.js'
import { TIME_DOOR } from './time-door.js'

export interface RedisStoreOptions extends ConnectOptions {
  /** What every key in Redis begins with. Default: `rate_limiter`. */
  prefix?: string
  /** The most limits decided in one call; 1 sends every check by itself. Default: 64. */
  maxBatch?: number
  /** The longest that a refusal is answered from memory, in milliseconds; 0 is off. Default: 1000. */
  rememberRefusalsMs?: number
  /** The most refusals remembered. Default: 100,000. */
  maxRemembered?: number
}

const CONNECT_OPTIONS = ['username', 'password', 'tls', 'connectTimeoutMs']
const OPTIONS = ['prefix', 'maxBatch', 'rememberRefusalsMs', 'maxRemembered', ...CONNECT_OPTIONS]

/**
 * State in Redis, shared exactly by every process that uses it: each check is one atomic script. What Redis has
 * refused is refused again without asking, for a moment: see `rememberRefusals`.
 */
export class RedisStore implements Store {
  /** The same, except that a remembered refusal is a plain value: see `Store`. */
  readonly plain: Store

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
    const batcher = createBatcher({ connection, maxBatch, slotOf, timeUs, maxWaitMs: connectTimeoutMs })
    const giveBack = (request: RefundRequest) => this.plain.refund(request)
    const bare = createBareStore({ connection, batcher, prefix, slotOf, giveBack })
    this.plain = rememberRefusals(bare, {
      capMs: rememberRefusalsMs,
      maxKeys: maxRemembered,
      except: bare.lostRace,
      ...(clock === undefined ? {} : { now: () => clock.nowUs() / 1000 }),
    })
  }

  check(request: TakeRequest): Promise<Decision> {
    return Promise.resolve(this.plain.check(request))
  }

  /** A limit has no decision if the remembered refusal of another had already refused the take. */
  take(requests: readonly TakeRequest[]): Promise<TakeResult> {
    return Promise.resolve(this.plain.take(requests))
  }

  peek(request: TakeRequest): Promise<Decision> {
    return Promise.resolve(this.plain.peek(request))
  }

  refund(request: RefundRequest): Promise<number> {
    return Promise.resolve(this.plain.refund(request))
  }

  reset(request: ResetRequest): Promise<void> {
    return Promise.resolve(this.plain.reset(request))
  }

  /** The node that a key is on: on a cluster, one can be down while the others are not. */
  partOf(request: ResetRequest): string {
    return this.plain.partOf!(request)
  }

  /** Told of every new connection: on a cluster, of that of any node. */
  onReachable(listener: () => void): void {
    this.plain.onReachable!(listener)
  }

  /** What has not been sent by then is not sent any more; the longest of several holds. Default: the connect time-out. */
  expectDeadline(ms: number): void {
    this.plain.expectDeadline!(ms)
  }

  close(): Promise<void> {
    return Promise.resolve(this.plain.close())
  }
}

function connectionTo(redis: unknown, options: ConnectOptions): RedisConnection {
  if (typeof redis === 'string') return connect(redis, options)
  const connection = connectionOf(redis)
  warnIfItResends(redis as object)
  return connection
}

const MAX_MAX_REMEMBERED = 10_000_000
const LONGEST_CONNECT_TIMEOUT_MS = 60_000

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
      `rememberRefusalsMs must be milliseconds from 0 up, got ${show(rememberRefusalsMs)}. Leave it out for 1000.`,
      { field: 'rememberRefusalsMs' },
    )
  }
  assertWhole('maxRemembered', maxRemembered, MAX_MAX_REMEMBERED, '100,000')
  assertWhole('connectTimeoutMs', connectTimeoutMs, LONGEST_CONNECT_TIMEOUT_MS, '1000')
  for (const [field, kind, what] of [
    ['username', 'string', 'text'],
    ['password', 'string', 'text'],
    ['tls', 'object', 'an object of TLS options'],
  ] as const) {
    const value = options[field]
    if (value === undefined || (typeof value === kind && value !== null)) continue
    // Not what it is: it may be a secret, and the message may be logged.
    throw new TidegateError('OPTION_INVALID', `${field} must be ${what}. Leave it out for none.`, { field })
  }
  return Object.freeze({ prefix, maxBatch, rememberRefusalsMs, maxRemembered, connectTimeoutMs })
}

function assertWhole(field: string, value: number, max: number, byDefault: string): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return
  throw new TidegateError(
    'OPTION_INVALID',
    `${field} must be a whole number from 1 to ${max}, got ${show(value)}. Leave it out for ${byDefault}.`,
    { field },
  )
}
