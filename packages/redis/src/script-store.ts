import {
  type AsyncStore,
  assertCost,
  assertKey,
  assertPolicy,
  assertRefund,
  type Call,
  type Decision,
  fixedWindow,
  type Limit,
  limitsOf,
  type RefundRequest,
  type ResetRequest,
  type StoreTraits,
  storeClosed,
  storeFailed,
  type TakeRequest,
  type TakeResult,
  TidegateError,
  takeResult,
  type WholeTakeResult,
} from '@tidegate/core'
import { ABANDONED, type createBatcher } from './batcher.js'
import type { Decided, Entry, RedisLimit } from './call.js'
import type { RedisConnection } from './connection.js'
import { redisKey } from './keys.js'

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
export interface ScriptStore extends AsyncStore {
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

  function limitOf({ policy, key, cost }: TakeRequest): RedisLimit {
    assertPolicy(policy)
    assertCost(policy, cost)
    assertKey(key)
    assertOpen()
    return { policy, redisKey: redisKey(prefix, policy.name, key), cost }
  }

  function slotOfRequest({ policy, key }: ResetRequest): number {
    assertPolicy(policy)
    assertKey(key)
    return slotOf(redisKey(prefix, policy.name, key))
  }

  function waitsFor(): string | undefined {
    return connection.isReady?.(0) === false ? connection.waitsFor?.() : undefined
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
   * Charges every limit at once. If one denies after all (a lost race) or fails, the others get back what they gave:
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
      limits.map((limit, i) =>
        decisions[i]?.allowed === true ? giveBack({ ...limit, timeMs: decisions[i].timeMs }) : undefined,
      ),
    )
    const failure = charges.find((charge) => charge.status === 'rejected')
    if (failure !== undefined) throw failure.reason
    return decisions.map((decision, i) => (decision!.allowed ? looks[i]! : decision!))
  }

  return {
    check: (request, call) => decide('take', request, call),
    peek: (request, call) => decide('peek', request, call),

    /** All or nothing. One call of the script, unless a cluster has the limits in several slots. */
    async take(requests, call) {
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
        return resultOf((await run({ kind: 'take', limits: redisLimits }, call)).decisions)
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

    async refund(request, call) {
      assertRefund(request)
      assertOpen()
      const { policy, key, timeMs, cost } = request
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

    async close() {
      if (isClosed) return
      isClosed = true
      batcher.close()
      await connection.close()
    },

    traits: {
      /** Resets a key of its own: that needs the script, its permissions and a server that accepts writes. */
      async ready() {
        assertOpen()
        const limit = { policy: PROBE, redisKey: redisKey(prefix, PROBE.name, 'ready'), cost: 1 }
        await withTimeout(run({ kind: 'reset', limits: [limit] }), readyTimeoutMs, waitsFor)
      },
      partOf: nodeOf ? (request) => nodeOf(slotOfRequest(request)) ?? 'unknown' : () => 'all',
      onReachable: (listener) => onReady?.(listener),
      waitsFor,
      silentMs: (requests) =>
        Math.max(0, ...requests.map((request) => batcher.silentMs(slotOfRequest(request)))),
    },

    lostRace: (result) => lostRaces.has(result),
  }
}

const PROBE = fixedWindow({ limit: 1, window: '1s', name: 'tidegate' })

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
