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
import type { Decided, Entry, RedisLimit } from './protocol.js'
import { createReservations } from './reservations.js'

export interface ScriptStoreOptions {
  connection: RedisConnection
  batcher: ReturnType<typeof createBatcher>
  prefix: string
  /** The slot of a key. On one server every key has the same. */
  slotOf: (redisKey: string) => number
  /** How long `ready` waits, in milliseconds. */
  readyTimeoutMs: number
  /** A refund through the outer store, which also drops the key from its denial cache. */
  giveBack: (request: RefundRequest) => unknown
}

/** A store that runs the script for everything. */
export interface ScriptStore extends AsyncStore, ReturnType<typeof createReservations> {
  charge(request: TakeRequest, call?: Call): Promise<Decision>
  block(request: BlockRequest, call?: Call): Promise<void>
  takeUpTo(request: TakeUpToRequest, call?: Call): Promise<TakeUpToResult>
  release(slots: readonly SlotRequest[], call?: Call): Promise<boolean[]>
  renew(slots: readonly SlotRequest[], call?: Call): Promise<(boolean | undefined)[]>
  readonly traits: StoreTraits & { ready(): Promise<void> }
  take(requests: readonly TakeRequest[], call?: Call): Promise<WholeTakeResult>
  close(): Promise<void>
  /** Whether a take of several slots was denied only when it was charged, and given back. */
  lostRace(result: TakeResult): boolean
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
  function decide(kind: 'take' | 'peek' | 'look', request: TakeRequest, call?: Call): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const entry = { kind, limits: [limitOf(request)] } as const
      batcher.run(entry, call, ({ decisions }) => resolve(decisions[0]!), reject)
    })
  }

  function run(entry: Entry, call?: Call): Promise<Decided> {
    return new Promise((resolve, reject) => batcher.run(entry, call, resolve, reject))
  }

  /**
   * Charges every limit at once. If one denies after all (a lost race) or fails, the others get their units back:
   * for a moment this is stricter than necessary, never more generous.
   */
  async function takeAcrossSlots(
    limits: readonly Limit[],
    looks: readonly Decision[],
    call: Call | undefined,
  ): Promise<Decision[]> {
    const charges = await Promise.allSettled(limits.map((limit) => decide('take', limit, call)))
    const decisions = charges.map((charge) => (charge.status === 'fulfilled' ? charge.value : undefined))
    if (decisions.every((decision) => decision?.allowed === true)) return decisions as Decision[]
    await Promise.allSettled(
      limits.map((limit, i) => {
        const decision = decisions[i]
        if (decision?.allowed === false) return undefined
        // A slot is released although its answer is lost: it may have been acquired.
        if (limit.policy.algorithm === 'concurrency') return changeSlots('release', [slotOfLimit(limit)])
        return decision && giveBack({ ...limit, timeMs: decision.timeMs })
      }),
    )
    const failure = charges.find((charge) => charge.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return decisions.map((decision, i) => (decision!.allowed ? looks[i]! : decision!))
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
        return (await run({ kind, limits: [limit] }, call)).given === 1
      }),
    )
  }

  return {
    ...reservations,
    check: (request, call) => decide('take', request, call),
    peek: (request, call) => decide('peek', request, call),

    /** All or nothing. One call of the script, unless a cluster has the limits on several nodes. */
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
      const looks = await Promise.all(limits.map((limit) => decide('look', limit, call)))
      if (!looks.every(({ allowed }) => allowed)) return resultOf(looks)
      if (call?.abandoned) throw ABANDONED
      // The take was made before `close`, so it fails like every other pending call.
      if (isClosed)
        throw new TidegateError('STORE_FAILED', 'The store was closed before the limits were charged.')
      const result = resultOf(await takeAcrossSlots(limits, looks, call))
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
      return (await run({ kind: 'takeUpTo', limits: [limit], max, divisor }, call)).takenUpTo!
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
      return (await run({ kind: 'refund', limits: [limit], decidedAt }, call)).given
    },

    async reset({ policy, key }, call) {
      assertPolicy(policy)
      assertKey(key)
      assertOpen()
      // In the queue of the checks: those made before it are decided before it.
      const limit = { policy, redisKey: redisKey(prefix, policy.name, key), cost: 1 }
      await run({ kind: 'reset', limits: [limit] }, call)
    },

    async release(slots, call) {
      return (await changeSlots('release', slots, call)).map((answer) => {
        if (answer.status === 'rejected') throw answer.reason
        return answer.value
      })
    },

    /** Rejects if no slot was answered. */
    async renew(slots, call) {
      const answers = await changeSlots('renew', slots, call)
      const failure = answers.find((answer) => answer.status === 'rejected')
      if (failure !== undefined && answers.every(({ status }) => status === 'rejected')) throw failure.reason
      return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined))
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

    lostRace: (result) => lostRaces.has(result),
  }
}

function slotOfLimit({ policy, key, id }: Limit): SlotRequest {
  return { policy, key, id: id! }
}

async function withTimeout<T>(
  answer: Promise<T>,
  ms: number,
  waitsFor: () => string | undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = waitsFor()
      const message = `Redis did not answer within ${ms} ms${reason === undefined ? '' : `: ${reason}`}.`
      reject(storeFailed('timeout', message))
    }, ms)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}
