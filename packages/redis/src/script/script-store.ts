import {
  type AsyncStore,
  assertBlock,
  assertCharge,
  assertCost,
  assertKey,
  assertPolicy,
  assertRatePolicy,
  assertRefund,
  assertSlot,
  assertSlotId,
  assertTakeUpTo,
  type BlockRequest,
  type Call,
  type Decision,
  type Limit,
  limitsOf,
  type RefundRequest,
  type ResetRequest,
  randomId,
  type SlotRequest,
  type StoreTraits,
  storeClosed,
  storeFailed,
  type TakeRequest,
  type TakeResult,
  type TakeUpToRequest,
  type TakeUpToResult,
  TidegateError,
  takeResult,
  type WholeTakeResult,
} from '@tidegate/core'
import type { RedisConnection } from '../connection/adapters.js'
import { redisKey } from '../keys.js'
import type { createBatcher } from './batcher.js'
import { ABANDONED, NOT_ON_ONE_NODE, unreachable } from './call-errors.js'
import { probe } from './node-test.js'
import type { Entry, EntryResult, RedisLimit } from './protocol.js'
import { createReservations } from './reservations.js'

export interface ScriptStoreOptions {
  connection: RedisConnection
  batcher: ReturnType<typeof createBatcher>
  prefix: string
  /** The slot of a key. On a single server, all keys have the same slot. */
  slotOf: (redisKey: string) => number
  /** How long `ready` waits, in milliseconds. */
  readyTimeoutMs: number
  /** A refund through the outer store, which also drops the key from its denial cache. */
  giveBack: (request: RefundRequest) => unknown
}

/** A store in which the script executes every operation. */
export interface ScriptStore extends AsyncStore, ReturnType<typeof createReservations> {
  charge(request: TakeRequest, call?: Call): Promise<Decision>
  block(request: BlockRequest, call?: Call): Promise<void>
  takeUpTo(request: TakeUpToRequest, call?: Call): Promise<TakeUpToResult>
  release(slots: readonly SlotRequest[], call?: Call): Promise<boolean[]>
  renew(slots: readonly SlotRequest[], call?: Call): Promise<(boolean | undefined)[]>
  readonly traits: StoreTraits & { ready(): Promise<void> }
  take(requests: readonly TakeRequest[], call?: Call): Promise<WholeTakeResult>
  close(): Promise<void>
  /** Whether a take over several slots lost a race: it was denied when it was charged, and then refunded. */
  hasLostRace(result: TakeResult): boolean
}

export function createScriptStore(options: ScriptStoreOptions): ScriptStore {
  const { connection, batcher, prefix, slotOf, readyTimeoutMs, giveBack } = options
  const { nodeOf, onReady } = connection
  const lostRaces = new WeakSet<TakeResult>()
  let isClosed = false

  function assertOpen(): void {
    if (isClosed) throw storeClosed('This Redis store')
  }

  function limitOf({ policy, key, cost, id }: TakeRequest): RedisLimit {
    assertPolicy(policy)
    assertCost(policy, cost)
    assertKey(key)
    assertOpen()
    const limit: RedisLimit = { policy, redisKey: redisKey(prefix, policy.name, key), cost }
    if (policy.algorithm === 'concurrency') {
      if (id !== undefined) assertSlotId(id)
      limit.id = id ?? randomId()
    }
    return limit
  }

  function slotOfRequest({ policy, key }: ResetRequest): number {
    assertPolicy(policy)
    assertKey(key)
    return slotOf(redisKey(prefix, policy.name, key))
  }

  function waitsFor(): string | undefined {
    return connection.isReady?.() === false ? connection.waitsFor?.() : undefined
  }

  /** Decides one limit. */
  function decide(kind: 'take' | 'peek' | 'repair', request: TakeRequest, call?: Call): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const entry = { kind, limits: [limitOf(request)] } as const
      batcher.run(entry, call, ({ decisions }) => resolve(decisions[0]!), reject)
    })
  }

  function run(entry: Entry, call?: Call): Promise<EntryResult> {
    return new Promise((resolve, reject) => batcher.run(entry, call, resolve, reject))
  }

  /**
   * Charges all limits in parallel. If one denies (a lost race) or fails, the others are refunded. For a moment, decisions
   * can be stricter than necessary, but never more generous.
   */
  async function takeAcrossSlots(
    limits: readonly Limit[],
    peeks: readonly Decision[],
    call: Call | undefined,
  ): Promise<Decision[]> {
    const charges = await Promise.allSettled(limits.map((limit) => decide('take', limit, call)))
    const decisions = charges.map((charge) => (charge.status === 'fulfilled' ? charge.value : undefined))
    if (decisions.every((decision) => decision?.allowed === true)) return decisions as Decision[]
    await Promise.allSettled(
      limits.map((limit, i) => {
        const decision = decisions[i]
        if (decision?.allowed === false) return undefined
        // Release a slot even if the reply was lost, because it may have been acquired.
        if (limit.policy.algorithm === 'concurrency') return changeSlots('release', [slotOfLimit(limit)])
        return decision && giveBack({ ...limit, timeMs: decision.timeMs })
      }),
    )
    const failure = charges.find((charge) => charge.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return decisions.map((decision, i) => (decision!.allowed ? peeks[i]! : decision!))
  }

  const reservations = createReservations({
    run,
    redisKeyOf: ({ policy, key }) => redisKey(prefix, policy.name, key),
    assertOpen,
    onLostRace: (result) => lostRaces.add(result),
  })
  /** One entry for each slot; the batcher sends them together. */
  function changeSlots(
    kind: 'release' | 'renew',
    slots: readonly SlotRequest[],
    call?: Call,
  ): Promise<PromiseSettledResult<boolean>[]> {
    for (const slot of slots) assertSlot(slot)
    assertOpen()
    return Promise.allSettled(
      slots.map(async ({ policy, key, id }) => {
        const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost: 1, id }
        return (await run({ kind, limits: [limit] }, call)).units === 1
      }),
    )
  }

  return {
    ...reservations,
    check: (request, call) => decide('take', request, call),
    peek: (request, call) => decide('peek', request, call),

    /** All or nothing: one call of the script, or several if the limits are on several nodes of a cluster. */
    async take(requests, call) {
      const parsed = limitsOf(requests)
      const { limits } = parsed
      const redisLimits = limits.map(limitOf)
      const resultOf = (decisions: readonly Decision[]) =>
        takeResult(
          parsed,
          decisions,
          decisions.every(({ allowed }) => allowed),
        )
      try {
        return resultOf((await run({ kind: 'take', limits: redisLimits }, call)).decisions)
      } catch (error) {
        if (error !== NOT_ON_ONE_NODE) throw error
      }
      const peeks = await Promise.all(limits.map((limit) => decide('repair', limit, call)))
      if (!peeks.every(({ allowed }) => allowed)) return resultOf(peeks)
      if (call?.abandoned) throw ABANDONED
      // The take began before `close`, so it fails like other pending calls.
      if (isClosed)
        throw new TidegateError('STORE_FAILED', 'The store was closed before the limits were charged.')
      const result = resultOf(await takeAcrossSlots(limits, peeks, call))
      if (!result.allowed) lostRaces.add(result)
      return result
    },

    async charge({ policy, key, cost }, call) {
      assertPolicy(policy)
      assertRatePolicy(policy, 'charge')
      assertCharge(policy, cost)
      assertKey(key)
      assertOpen()
      const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost }
      return (await run({ kind: 'charge', limits: [limit] }, call)).decisions[0]!
    },

    async takeUpTo(request, call) {
      const policy = assertTakeUpTo(request)
      assertOpen()
      const { key, min, max, divisor } = request
      const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost: min }
      return (await run({ kind: 'takeUpTo', limits: [limit], max, divisor }, call)).takeUpToResult!
    },

    async block(request, call) {
      assertBlock(request)
      const { policy, key, durationMs } = request
      assertRatePolicy(policy, 'block')
      assertOpen()
      const limit = {
        policy,
        redisKey: redisKey(prefix, policy.name, key),
        cost: Math.round(durationMs * 1000),
      }
      await run({ kind: 'block', limits: [limit] }, call)
    },

    async refund(request, call) {
      assertRefund(request)
      const { policy, key, timeMs, cost } = request
      assertRatePolicy(policy, 'refund')
      assertOpen()
      const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost }
      const decidedAt = Math.round(timeMs * 1000)
      return (await run({ kind: 'refund', limits: [limit], decidedAt }, call)).units
    },

    async reset({ policy, key }, call) {
      assertPolicy(policy)
      assertKey(key)
      assertOpen()
      // Uses the queue of the checks, so that earlier checks are decided before the reset.
      const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost: 1 }
      await run({ kind: 'reset', limits: [limit] }, call)
    },

    async release(slots, call) {
      return (await changeSlots('release', slots, call)).map((result) => {
        if (result.status === 'rejected') throw result.reason
        return result.value
      })
    },

    /** Rejects if every call failed. */
    async renew(slots, call) {
      const results = await changeSlots('renew', slots, call)
      const failure = results.find((result) => result.status === 'rejected')
      if (failure !== undefined && results.every(({ status }) => status === 'rejected')) throw failure.reason
      return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined))
    },

    async close() {
      if (isClosed) return
      isClosed = true
      batcher.close()
      await connection.close()
    },

    traits: {
      async ready() {
        assertOpen()
        await withTimeout(run(probe(prefix, 'ready')), readyTimeoutMs, waitsFor)
      },
      partOf: nodeOf ? (request) => nodeOf(slotOfRequest(request)) ?? 'unknown' : () => 'all',
      onReachable: (listener) => onReady?.(listener),
      onUnreachable(listener) {
        const report = () => {
          const reason = connection.lostReason?.()
          if (reason !== undefined && !isClosed) listener(unreachable(reason))
        }
        connection.onLost?.(report)
        // The first attempt may have failed already.
        queueMicrotask(report)
      },
      waitsFor,
      silentMs: (requests) =>
        Math.max(0, ...requests.map((request) => batcher.silentMs(slotOfRequest(request)))),
    },

    hasLostRace: (result) => lostRaces.has(result),
  }
}

function slotOfLimit({ policy, key, id }: Limit): SlotRequest {
  return { policy, key, id: id! }
}

async function withTimeout<T>(
  result: Promise<T>,
  ms: number,
  waitsFor: () => string | undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = waitsFor()
      const message = `Redis did not respond within ${ms} ms${reason === undefined ? '' : `: ${reason}`}.`
      reject(storeFailed('timeout', message))
    }, ms)
  })
  try {
    return await Promise.race([result, timeout])
  } finally {
    clearTimeout(timer)
  }
}
