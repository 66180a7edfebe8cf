import {
  assertCost,
  assertKey,
  assertPolicy,
  assertRefund,
  type Decision,
  type Limit,
  limitsOf,
  type RefundRequest,
  type ResetRequest,
  type Store,
  storeClosed,
  type TakeRequest,
  type TakeResult,
  TidegateError,
  takeResult,
  type WholeTakeResult,
} from '@tidegate/core'
import type { createBatcher } from './batcher.js'
import type { Decided, Entry, RedisLimit } from './call.js'
import type { RedisConnection } from './connection.js'
import { redisKey } from './keys.js'

export interface BareStoreOptions {
  connection: RedisConnection
  batcher: ReturnType<typeof createBatcher>
  prefix: string
  /** The slot of a key. On one server every key has the same. */
  slotOf: (redisKey: string) => number
  /** A refund by the store that users have: what it remembers of the key is then forgotten. */
  giveBack: (request: RefundRequest) => unknown
}

/** A store that asks Redis about everything. */
export interface BareStore extends Store {
  check(request: TakeRequest): Promise<Decision>
  take(requests: readonly TakeRequest[]): Promise<WholeTakeResult>
  peek(request: TakeRequest): Promise<Decision>
  refund(request: RefundRequest): Promise<number>
  reset(request: ResetRequest): Promise<void>
  close(): Promise<void>
  /** Whether a take of several slots was refused only when it was charged, and given back. */
  lostRace(result: TakeResult): boolean
}

export function createBareStore({
  connection,
  batcher,
  prefix,
  slotOf,
  giveBack,
}: BareStoreOptions): BareStore {
  const { nodeOf, onReady } = connection
  const lostRaces = new WeakSet<TakeResult>()
  let isClosed = false

  function assertOpen(): void {
    if (isClosed) throw storeClosed('This Redis store')
  }

  function limitOf({ policy, key, cost }: TakeRequest): RedisLimit {
    assertPolicy(policy)
    assertCost(policy, cost)
    assertKey(key)
    assertOpen()
    return { policy, redisKey: redisKey(prefix, policy.name, key), cost }
  }

  /** One limit by itself. */
  function decide(kind: 'take' | 'peek' | 'look', request: TakeRequest): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const entry = { kind, limits: [limitOf(request)] } as const
      batcher.run(entry, ({ decisions }) => resolve(decisions[0]!), reject)
    })
  }

  function run(entry: Entry): Promise<Decided> {
    return new Promise((resolve, reject) => batcher.run(entry, resolve, reject))
  }

  /**
   * Charges every limit at once. If one refuses after all, a race was lost, and if one cannot be asked, the
   * others get back what they gave: for a moment this is stricter than it must be, never more generous.
   */
  async function takeAcrossSlots(limits: readonly Limit[], seen: readonly Decision[]): Promise<Decision[]> {
    const charges = await Promise.allSettled(limits.map((limit) => decide('take', limit)))
    const decisions = charges.map((charge) => (charge.status === 'fulfilled' ? charge.value : undefined))
    if (decisions.every((decision) => decision?.allowed === true)) return decisions as Decision[]
    await Promise.allSettled(
      limits.map((limit, i) =>
        decisions[i]?.allowed === true ? giveBack({ ...limit, timeMs: decisions[i].timeMs }) : undefined,
      ),
    )
    const failure = charges.find((charge) => charge.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return decisions.map((decision, i) => (decision!.allowed ? seen[i]! : decision!))
  }

  return {
    check: (request) => decide('take', request),
    peek: (request) => decide('peek', request),

    /** All or nothing. One call of the script, unless a cluster has the limits in several slots. */
    async take(requests) {
      const asked = limitsOf(requests)
      const { limits } = asked
      const redisLimits = limits.map(limitOf)
      const slots = new Set(redisLimits.map((limit) => slotOf(limit.redisKey)))
      const resultOf = (decisions: readonly Decision[]) =>
        takeResult(
          asked,
          decisions,
          decisions.every(({ allowed }) => allowed),
        )
      if (slots.size === 1) {
        return resultOf((await run({ kind: 'take', limits: redisLimits })).decisions)
      }
      const isWanted = batcher.patience()
      const looks = await Promise.all(limits.map((limit) => decide('look', limit)))
      if (!looks.every(({ allowed }) => allowed)) return resultOf(looks)
      if (!isWanted())
        throw new TidegateError('STORE_FAILED', 'Redis took too long to look at all the limits.')
      // It was made before that, and fails as whatever was on its way: a limiter answers for it.
      if (isClosed)
        throw new TidegateError('STORE_FAILED', 'The store was closed before the limits were charged.')
      const result = resultOf(await takeAcrossSlots(limits, looks))
      if (!result.allowed) lostRaces.add(result)
      return result
    },

    async refund(request) {
      assertRefund(request)
      assertOpen()
      const { policy, key, timeMs, cost } = request
      const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost }
      const decidedAt = Math.round(timeMs * 1000)
      return (await run({ kind: 'refund', limits: [limit], decidedAt })).given
    },

    async reset({ policy, key }) {
      assertPolicy(policy)
      assertKey(key)
      assertOpen()
      // With the checks, not past them: those made before it are decided before it.
      const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost: 1 }
      await run({ kind: 'reset', limits: [limit] })
    },

    async close() {
      if (isClosed) return
      isClosed = true
      batcher.close()
      await connection.close()
    },

    partOf: nodeOf
      ? ({ policy, key }) => {
          assertPolicy(policy)
          assertKey(key)
          return nodeOf(slotOf(redisKey(prefix, policy.name, key))) ?? 'unknown'
        }
      : () => 'all',

    onReachable: (listener) => onReady?.(listener),
    expectDeadline: batcher.expectDeadline,
    lostRace: (result) => lostRaces.has(result),
  }
}
