import { TidegateError } from '@tidegate/core'
import { decode, type Entry, type EntryReply, encode } from './call.js'
import type { RedisConnection } from './connection.js'
import { SCRIPT, SCRIPT_SHA } from './script.js'

interface Waiting {
  entry: Entry
  slot: number
  resolve: (reply: Extract<EntryReply, { decisions: unknown }>) => void
  reject: (error: unknown) => void
}

export interface BatcherOptions {
  connection: RedisConnection
  /** The most limits in one call. */
  maxBatch: number
  /** The slot of a key; all calls to one slot are one call. On one server every key has the same. */
  slotOf: (redisKey: string) => number
  /** The time to pass to the script; 0 for the server's own. */
  timeUs: () => number
}

/**
 * Checks that come together travel together. While nothing is on its way an entry leaves at the end of the
 * turn in which it was made, with whatever else was made in that turn: an idle system waits for nothing.
 * While calls are on their way, entries gather, and leave when one comes back.
 */
export function createBatcher({ connection, maxBatch, slotOf, timeUs }: BatcherOptions) {
  let waiting: Waiting[] = []
  let inFlight = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || inFlight >= MAX_IN_FLIGHT || waiting.length === 0) return
    isScheduled = true
    queueMicrotask(flush)
  }

  function flush(): void {
    isScheduled = false
    const all = waiting
    waiting = []
    for (const batch of batches(all)) void send(batch)
  }

  /** Everything that waits, by slot, in calls of at most `maxBatch` limits. */
  function batches(all: readonly Waiting[]): Waiting[][] {
    const open = new Map<number, { batch: Waiting[]; limits: number }>()
    const result: Waiting[][] = []
    for (const one of all) {
      const limits = one.entry.limits.length
      let current = open.get(one.slot)
      if (current === undefined || current.limits + limits > maxBatch) {
        current = { batch: [], limits: 0 }
        open.set(one.slot, current)
        result.push(current.batch)
      }
      current.batch.push(one)
      current.limits += limits
    }
    return result
  }

  async function send(batch: readonly Waiting[]): Promise<void> {
    inFlight++
    const entries = batch.map((one) => one.entry)
    try {
      const replies = decode(entries, await call(entries))
      for (let i = 0; i < batch.length; i++) settle(batch[i]!, replies[i]!)
    } catch (error) {
      const failed = storeFailed(error)
      for (const one of batch) one.reject(failed)
    } finally {
      inFlight--
      schedule()
    }
  }

  /** EVALSHA; if the server does not have the script, the script itself, which then stays there. */
  async function call(entries: readonly Entry[]): Promise<unknown> {
    const { keys, args } = encode(entries, timeUs())
    const rest = [String(keys.length), ...keys, ...args]
    try {
      return await connection.send(keys[0]!, ['EVALSHA', SCRIPT_SHA, ...rest])
    } catch (error) {
      if (!String((error as Error)?.message).startsWith('NOSCRIPT')) throw error
      return connection.send(keys[0]!, ['EVAL', SCRIPT, ...rest])
    }
  }

  return {
    /** Decides an entry whose limits are all in one slot. */
    run(entry: Entry): Promise<Extract<EntryReply, { decisions: unknown }>> {
      return new Promise((resolve, reject) => {
        waiting.push({ entry, slot: slotOf(entry.limits[0]!.redisKey), resolve, reject })
        schedule()
      })
    },
  }
}

/** Two: while one is decided, the next is already there. */
const MAX_IN_FLIGHT = 2

function settle(one: Waiting, reply: EntryReply): void {
  if ('failed' in reply) one.reject(storeFailed(new Error(reply.failed)))
  else one.resolve(reply)
}

export function storeFailed(error: unknown): TidegateError {
  if (error instanceof TidegateError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new TidegateError('STORE_FAILED', `Redis could not answer: ${reason}`, { cause: error })
}
