import {
  assertCost,
  assertKey,
  assertOptions,
  assertPolicy,
  assertRefund,
  type Clock,
  type Decision,
  limitsOf,
  type RefundRequest,
  type ResetRequest,
  type Store,
  type TakeRequest,
  type TakeResult,
  TidegateError,
  takeResult,
} from '@tidegate/core'
import calculateSlot from 'cluster-key-slot'
import { createBatcher } from './batcher.js'
import type { RedisLimit } from './call.js'
import { type ConnectOptions, connect } from './connect.js'
import {
  connectionOf,
  type IoredisClient,
  type NodeRedisClient,
  type NodeRedisCluster,
  type RedisConnection,
} from './connection.js'
import { assertPrefix, DEFAULT_PREFIX, redisKey } from './keys.js'
import { TIME_DOOR } from './time-door.js'

export interface RedisStoreOptions extends ConnectOptions {
  /** What every key in Redis begins with. Default: `rate_limiter`. */
  prefix?: string
  /** The most limits decided in one call; 1 sends every check by itself. Default: 64. */
  maxBatch?: number
}

const OPTIONS = ['prefix', 'maxBatch', 'username', 'password', 'tls', 'connectTimeoutMs']

/** State in Redis, shared exactly by every process that uses it: each check is one atomic script. */
export class RedisStore implements Store {
  readonly #connection: RedisConnection
  readonly #prefix: string
  readonly #batcher: ReturnType<typeof createBatcher>
  readonly #slotOf: (redisKey: string) => number
  #closed = false

  /** `redis://`, `rediss://`, `redis+sentinel://h1,h2/name`, `redis+cluster://h1,h2`, or a client of your own. */
  constructor(
    redis: string | IoredisClient | NodeRedisClient | NodeRedisCluster,
    options: RedisStoreOptions = {},
  ) {
    assertOptions('new RedisStore()', options, OPTIONS)
    const { prefix = DEFAULT_PREFIX, maxBatch = 64 } = options
    assertPrefix(prefix)
    if (!Number.isInteger(maxBatch) || maxBatch < 1 || maxBatch > 1000) {
      throw new TidegateError(
        'OPTION_INVALID',
        'maxBatch must be a whole number from 1 to 1000. Leave it out for 64.',
        { field: 'maxBatch' },
      )
    }
    this.#prefix = prefix
    this.#connection = typeof redis === 'string' ? connect(redis, options) : connectionOf(redis)
    this.#slotOf = this.#connection.isCluster ? calculateSlot : () => 0
    const clock = (options as { [TIME_DOOR]?: Clock })[TIME_DOOR]
    this.#batcher = createBatcher({
      connection: this.#connection,
      maxBatch,
      slotOf: this.#slotOf,
      timeUs: clock === undefined ? () => 0 : () => clock.nowUs(),
    })
  }

  async check(request: TakeRequest): Promise<Decision> {
    const { decisions } = await this.#batcher.run({ kind: 'take', limits: [this.#limit(request)] })
    return decisions[0]!
  }

  async peek(request: TakeRequest): Promise<Decision> {
    const { decisions } = await this.#batcher.run({ kind: 'peek', limits: [this.#limit(request)] })
    return decisions[0]!
  }

  async take(requests: readonly TakeRequest[]): Promise<TakeResult> {
    const { limits, limitOfRequest } = limitsOf(requests)
    const redisLimits = limits.map((limit) => this.#limit(limit))
    const decisions = await this.#takeAll(redisLimits)
    const allowed = decisions.every((decision) => decision.allowed)
    return takeResult(requests, limitOfRequest, decisions, allowed)
  }

  async refund(request: RefundRequest): Promise<number> {
    assertRefund(request)
    this.#assertOpen()
    const { policy, key, timeMs, cost } = request
    return this.#refund({ policy, redisKey: redisKey(this.#prefix, policy.name, key), cost }, timeMs)
  }

  async reset({ policy, key }: ResetRequest): Promise<void> {
    assertPolicy(policy)
    assertKey(key)
    this.#assertOpen()
    // With the checks, not past them: those made before it are decided before it.
    const limit = { policy, redisKey: redisKey(this.#prefix, policy.name, key), cost: 1 }
    await this.#batcher.run({ kind: 'reset', limits: [limit] })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#connection.close()
  }

  #limit({ policy, key, cost }: TakeRequest): RedisLimit {
    assertPolicy(policy)
    assertCost(policy, cost)
    assertKey(key)
    this.#assertOpen()
    return { policy, redisKey: redisKey(this.#prefix, policy.name, key), cost }
  }

  /** All or nothing. One call of the script, unless a cluster has the limits in several slots. */
  async #takeAll(limits: readonly RedisLimit[]): Promise<Decision[]> {
    const slots = new Set(limits.map((limit) => this.#slotOf(limit.redisKey)))
    if (slots.size === 1) return (await this.#batcher.run({ kind: 'take', limits })).decisions
    const looks = await Promise.all(
      limits.map((limit) => this.#batcher.run({ kind: 'look', limits: [limit] })),
    )
    const seen = looks.map((look) => look.decisions[0]!)
    if (!seen.every((decision) => decision.allowed)) return seen
    return this.#takeAcrossSlots(limits, seen)
  }

  /**
   * Charges every limit at once. If one refuses after all, a race was lost, and if one cannot be asked, the
   * others get back what they gave: for a moment this is stricter than it must be, never more generous.
   */
  async #takeAcrossSlots(limits: readonly RedisLimit[], seen: readonly Decision[]): Promise<Decision[]> {
    const charges = await Promise.allSettled(
      limits.map((limit) => this.#batcher.run({ kind: 'take', limits: [limit] })),
    )
    const decisions = charges.map((charge) =>
      charge.status === 'fulfilled' ? charge.value.decisions[0]! : undefined,
    )
    if (decisions.every((decision) => decision?.allowed === true)) return decisions as Decision[]
    await Promise.allSettled(
      limits.map((limit, i) =>
        decisions[i]?.allowed === true ? this.#refund(limit, decisions[i].timeMs) : undefined,
      ),
    )
    const failure = charges.find((charge) => charge.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return decisions.map((decision, i) => (decision!.allowed ? seen[i]! : decision!))
  }

  async #refund(limit: RedisLimit, timeMs: number): Promise<number> {
    const decidedAt = Math.round(timeMs * 1000)
    const { given } = await this.#batcher.run({ kind: 'refund', limits: [limit], decidedAt })
    return given
  }

  #assertOpen(): void {
    if (this.#closed) throw new TidegateError('STORE_FAILED', 'This Redis store is closed; make a new one.')
  }
}
