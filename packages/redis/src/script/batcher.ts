import type { Call, EventLoopTime } from '@tidegate/core'
import type { RedisConnection } from '../connection/adapters.js'
import {
  ABANDONED,
  failureOf,
  isElsewhere,
  isMoving,
  NOT_ON_ONE_NODE,
  rejectsUndeclaredKeys,
  unreachable,
} from './call-errors.js'
import { callScript, NODE_UNKNOWN } from './call-script.js'
import {
  countOfOneKey,
  countThatFits,
  createLane,
  type Lane,
  type QueuedEntry,
  type SentCall,
  takeFirst,
} from './lane.js'
import { decode, type Entry, type EntryReply, type EntryResult, encode, type ScriptCall } from './protocol.js'

export interface BatcherOptions {
  connection: RedisConnection
  /** The maximum number of limits in one call. */
  maxBatch: number
  /** The slot of a key. On a single server, all keys have the same slot. */
  slotOf: (redisKey: string) => number
  /** The time to pass to the script; 0 for the time of the server. */
  timeUs: () => number
  /** How long an entry without a `Call` may wait before it is sent, in milliseconds. */
  maxWaitMs: number
  loop: EventLoopTime
  /**
   * Entries that test whether a node of a cluster decides keys of several slots in one call; undefined if there are none
   * for this node. Default: no node is tested, and each slot has its own calls.
   */
  testOf?: ((node: string) => readonly Entry[] | undefined) | undefined
}

/**
 * Sends checks that arrive together in one call. If no call is in flight, an entry is sent with all others of the same
 * microtask, so batching adds no latency to an idle system. Otherwise entries are queued until a reply arrives, or until
 * they fill a call. An entry whose caller has stopped waiting is never sent.
 *
 * On a cluster, each node has a lane, whose calls do not declare their keys. If the node does not execute an entry because
 * its slot has moved, the entry is sent once more in the lane of its slot, whose calls declare their keys, so that the
 * client follows redirections. For a node that does not accept undeclared keys, only the lanes of its slots are used.
 */
export function createBatcher(options: BatcherOptions) {
  const { connection, maxBatch, slotOf, timeUs, maxWaitMs, loop, testOf } = options
  /** By slot or node. */
  const lanes = new Map<number | string, Lane>()
  let pending = 0
  /** The server's time minus the time of this process, in microseconds. */
  let serverOffsetUs = 0
  /** Runs while entries are pending, and keeps the process alive, which sockets do not. */
  let sweeper: NodeJS.Timeout | undefined

  connection.onReady?.(() => {
    for (const lane of lanes.values()) placeAll(lane)
  })
  connection.onLost?.(() => {
    for (const lane of lanes.values()) failIfUnreachable(lane)
  })

  function nodeOf(lane: Lane): string | undefined {
    return lane.node ?? connection.nodeOf?.(lane.slot!)
  }

  function canSend(lane: Lane): boolean {
    return connection.isReady?.(nodeOf(lane)) ?? true
  }

  function laneOf(name: number | string): Lane {
    let lane = lanes.get(name)
    if (lane === undefined) {
      lane = createLane(typeof name === 'number' ? { slot: name } : { node: name })
      lanes.set(name, lane)
    }
    return lane
  }

  /** The node that decides all of these slots in one call. */
  function commonNode(slots: readonly number[]): string | undefined {
    if (testOf === undefined || connection.nodeOf === undefined) return undefined
    const node = connection.nodeOf(slots[0]!)
    if (node === undefined) return undefined
    const nowMs = performance.now()
    for (const slot of slots) {
      if (connection.nodeOf(slot) !== node || nowMs < (lanes.get(slot)?.singleKeyUntilMs ?? 0))
        return undefined
    }
    const lane = lanes.get(node)
    return lane?.support === 'no' && nowMs < lane.testAgainMs ? undefined : node
  }

  /** Adds an entry to the current lane of its slots. */
  function place(one: QueuedEntry): void {
    const { slots, wasRejected, entry } = one
    const node = wasRejected ? undefined : commonNode(slots)
    if (node === undefined && slots.length > 1) {
      fail(one, NOT_ON_ONE_NODE)
      return
    }
    const lane = laneOf(node ?? slots[0]!)
    lane.waiting.push(one)
    lane.limits += entry.limits.length
    schedule(lane)
    if (!lane.isScheduled) failIfUnreachable(lane)
  }

  /** Queues an entry that was not executed in the lane of its slot. */
  function placeAgain(one: QueuedEntry): void {
    place({ ...one, wasRejected: true })
  }

  /** Moves the waiting entries to their current lanes, because their slots may have moved to another node. */
  function placeAll(lane: Lane): void {
    for (const one of takeFirst(lane, lane.waiting.length)) place(one)
  }

  /** Sends the entries of a node through the lanes of their slots for a while. */
  function useSlotLanes(lane: Lane): void {
    lane.support = 'no'
    lane.testAgainMs = performance.now() + TEST_AGAIN_MS
    placeAll(lane)
  }

  /** Whether a lane may send its entries. A node is tested first, and again from time to time if it failed. */
  function isSupported(lane: Lane): boolean {
    if (lane.node === undefined || lane.support === 'yes') return true
    const isDue = lane.support === 'unknown' || performance.now() >= lane.testAgainMs
    if (lane.support !== 'testing' && isDue) void test(lane, lane.node)
    return false
  }

  async function test(lane: Lane, node: string): Promise<void> {
    lane.support = 'testing'
    const sentCall = startCall(lane)
    let hasPassed = false
    try {
      const entries = testOf?.(node)
      if (entries !== undefined) {
        const reply = await callScript(connection, lane, () => encodeFor(lane, entries))
        hasPassed = decode(entries, reply).replies.every((reply) => !('failed' in reply))
      }
    } catch {
      // After any error, use the lanes of the slots, which always work.
    }
    lane.sentCalls.delete(sentCall)
    if (hasPassed) {
      lane.support = 'yes'
      schedule(lane)
    } else useSlotLanes(lane)
  }

  /** A call that is not full waits while others are in flight. A longer round trip allows more calls in flight. */
  function mayLeave({ limits, sentCalls, roundTrip }: Lane): boolean {
    if (limits === 0) return false
    const more = Math.min(Math.floor(roundTrip.ms()), MAX_CALLS_FOR_DISTANCE)
    return sentCalls.size < more + (limits >= maxBatch ? MAX_LIMITS_IN_FLIGHT / maxBatch : 1)
  }

  function schedule(lane: Lane): void {
    if (lane.isScheduled || !mayLeave(lane) || !canSend(lane) || !isSupported(lane)) return
    lane.isScheduled = true
    // After a batch, wait for the end of this turn of the event loop, because servers read their connections one by one.
    // Otherwise use a resolved promise: Node allocates an async resource for each call of `queueMicrotask`.
    if (performance.now() < lane.busyUntilMs) setImmediate(flush, lane)
    else void RESOLVED.then(() => flush(lane))
  }

  function flush(lane: Lane): void {
    lane.isScheduled = false
    if (!canSend(lane) || !isSupported(lane)) return
    const isSingleKey = performance.now() < lane.singleKeyUntilMs
    while (mayLeave(lane)) {
      const count = isSingleKey
        ? countOfOneKey(lane.waiting, maxBatch)
        : countThatFits(lane.waiting, maxBatch)
      const batch = withoutAbandoned(takeFirst(lane, count))
      if (batch.length > 0) void send(lane, batch)
    }
  }

  function startSweeper(): void {
    // Read the replies that have arrived first, even if the timer is late.
    sweeper = setTimeout(() => setImmediate(sweep), maxWaitMs / SWEEPS)
  }

  /** Fails entries that have waited too long, and drops connections without a reply for several sweeps. */
  function sweep(): void {
    sweeper = undefined
    if (pending > 0) startSweeper()
    for (const lane of lanes.values()) {
      for (const call of lane.sentCalls) if (++call.sweeps === SWEEPS + 1) connection.leave?.(nodeOf(lane))
      if (lane.waiting.length === 0) continue
      const remaining = withoutAbandoned(takeFirst(lane, lane.waiting.length))
      lane.waiting = [...remaining]
      for (const { entry } of remaining) lane.limits += entry.limits.length
      placeAll(lane)
    }
  }

  /** Returns the entries whose callers still wait, and fails the others. */
  function withoutAbandoned(batch: readonly QueuedEntry[]): readonly QueuedEntry[] {
    const nowMs = performance.now()
    const isAwaited = ({ call, sinceMs }: QueuedEntry) =>
      call === undefined ? nowMs - sinceMs < maxWaitMs : !call.abandoned
    if (batch.every(isAwaited)) return batch
    return batch.filter((one) => {
      if (isAwaited(one)) return true
      if (one.call !== undefined) fail(one, ABANDONED)
      else {
        const reason = connection.waitsFor?.() ?? 'no connection'
        const error = new Error(`nothing was sent for ${maxWaitMs} ms, ${reason}`)
        fail(one, failureOf(error, connection.lostReason?.()))
      }
      return false
    })
  }

  /** Fails waiting entries at once if the connection is down for a known reason. */
  function failIfUnreachable(lane: Lane): void {
    if (lane.waiting.length === 0 || canSend(lane)) return
    const reason = connection.lostReason?.()
    if (reason === undefined) return
    const error = unreachable(reason)
    for (const one of takeFirst(lane, lane.waiting.length)) fail(one, error)
  }

  function fail({ reject }: QueuedEntry, error: unknown): void {
    removePending()
    reject(error)
  }

  function addPending(): void {
    if (pending++ > 0) return
    if (sweeper === undefined) startSweeper()
    else sweeper.ref()
  }

  function removePending(): void {
    if (--pending === 0) sweeper?.unref()
  }

  function startCall(lane: Lane): SentCall {
    const sentCall = { sentMs: loop.now(), sweeps: 0 }
    lane.sentCalls.add(sentCall)
    return sentCall
  }

  async function send(lane: Lane, batch: readonly QueuedEntry[]): Promise<void> {
    const startMs = performance.now()
    const isAlone = lane.sentCalls.size === 0
    const sentCall = startCall(lane)
    let sent = batch
    try {
      const reply = await callScript(connection, lane, () => {
        sent = withoutAbandoned(sent)
        if (sent.length === 0) throw ABANDONED
        return encodeFor(lane, sent.map(entryOf))
      })
      const { timeUs: serverTimeUs, replies } = decode(sent.map(entryOf), reply)
      serverOffsetUs = serverTimeUs - Date.now() * 1000
      for (let i = 0; i < sent.length; i++) settle(lane, sent[i]!, replies[i]!)
    } catch (error) {
      settleFailed(lane, sent, error)
    } finally {
      lane.sentCalls.delete(sentCall)
      const nowMs = performance.now()
      if (isAlone) lane.roundTrip.add(nowMs - startMs, nowMs)
      lane.busyUntilMs = batch.length > 1 ? nowMs + BUSY_MS : 0
      schedule(lane)
    }
  }

  /** Settles a call that failed as a whole. */
  function settleFailed(lane: Lane, sent: readonly QueuedEntry[], error: unknown): void {
    let wasExecuted = true
    if (lane.node !== undefined && (error === NODE_UNKNOWN || rejectsUndeclaredKeys(error))) {
      wasExecuted = false
      useSlotLanes(lane)
    } else if (lane.slot !== undefined && isMoving(error)) {
      wasExecuted = false
      useSingleKeys([lane.slot])
    }
    const failure = failureOf(error, connection.lostReason?.())
    for (const one of sent) {
      if (wasExecuted || one.wasRejected) fail(one, failure)
      else placeAgain(one)
    }
  }

  /** Sends the keys of moving slots one per call for a while. */
  function useSingleKeys(slots: readonly number[]): void {
    for (const slot of slots) laneOf(slot).singleKeyUntilMs = performance.now() + SINGLE_KEY_MS
  }

  function settle(lane: Lane, one: QueuedEntry, reply: EntryReply): void {
    if ('stale' in reply) {
      sendAgain(lane, one)
    } else if ('failed' in reply && lane.node !== undefined && isElsewhere(reply.failed)) {
      useSingleKeys(one.slots)
      placeAgain(one)
    } else if ('failed' in reply && lane.node !== undefined && rejectsUndeclaredKeys(reply.failed)) {
      useSlotLanes(lane)
      placeAgain(one)
    } else if ('failed' in reply) {
      // Clients do not detect this error inside a reply of the script.
      if (reply.failed.message.startsWith('READONLY')) connection.leave?.(nodeOf(lane))
      fail(one, failureOf(reply.failed))
    } else {
      removePending()
      one.resolve(reply)
    }
  }

  /** Queues an entry before newer ones, for the next call: the server's time is known now. */
  function sendAgain(lane: Lane, one: QueuedEntry): void {
    if (one.isSecond) fail(one, failureOf(new Error("the server's clock moved between two calls")))
    else {
      lane.waiting.unshift({ ...one, isSecond: true })
      lane.limits += one.entry.limits.length
    }
  }

  function encodeFor(lane: Lane, entries: readonly Entry[]): ScriptCall {
    return encode(entries, timeUs(), Date.now() * 1000 + serverOffsetUs, lane.node === undefined)
  }

  function silenceOf(lane: Lane | undefined): number {
    for (const { sentMs } of lane?.sentCalls ?? []) return loop.now() - sentMs
    return 0
  }

  return {
    /**
     * Decides an entry whose limits are all in one slot, or on one node that passes its test; otherwise it fails with
     * `NOT_ON_ONE_NODE`. Takes callbacks, because each caller already has a promise.
     */
    run(
      entry: Entry,
      call: Call | undefined,
      resolve: (reply: EntryResult) => void,
      reject: (error: unknown) => void,
    ): void {
      const slots = slotsOf(entry, slotOf)
      addPending()
      place({
        entry,
        slots,
        isSecond: false,
        wasRejected: false,
        call,
        sinceMs: performance.now(),
        resolve,
        reject,
      })
    },

    /**
     * How long a call to this slot or its node has been without a reply, in event-loop time: infinite without a
     * connection, 0 if no call is in flight.
     */
    silentMs(slot: number): number {
      const node = connection.nodeOf?.(slot)
      if (connection.isReady?.(node) === false) return Number.POSITIVE_INFINITY
      return Math.max(silenceOf(lanes.get(slot)), silenceOf(lanes.get(node ?? slot)))
    },

    /** Fails the waiting entries. */
    close(): void {
      clearTimeout(sweeper)
      const closed = failureOf(new Error('the store was closed'))
      for (const lane of lanes.values()) {
        for (const one of takeFirst(lane, lane.waiting.length)) fail(one, closed)
      }
    },
  }
}

const RESOLVED = Promise.resolve()
/** How often waiting entries are checked within `maxWaitMs`. */
const SWEEPS = 4
/** For this long after a batch of several checks, more checks are expected to arrive at the same time. */
const BUSY_MS = 10
/** One more call per millisecond of round trip, so that a check rarely waits for an earlier reply. */
const MAX_CALLS_FOR_DISTANCE = 32
/**
 * The maximum number of limits in full calls in flight to a nearby server. The replies to calls that were sent together
 * arrive together; with only two calls, this process and the server would take turns waiting for each other.
 */
const MAX_LIMITS_IN_FLIGHT = 256
/** How long the keys of a moving slot are sent one per call. */
const SINGLE_KEY_MS = 1000
/** The time until a node that does not accept undeclared keys is tested again. */
const TEST_AGAIN_MS = 5000

function entryOf({ entry }: QueuedEntry): Entry {
  return entry
}

function slotsOf({ limits }: Entry, slotOf: (redisKey: string) => number): number[] {
  if (limits.length === 1) return [slotOf(limits[0]!.redisKey)]
  return [...new Set(limits.map(({ redisKey }) => slotOf(redisKey)))]
}
