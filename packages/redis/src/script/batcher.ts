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
  type OnWire,
  takeFirst,
  type Waiting,
} from './lane.js'
import { type Decided, decode, type Entry, type EntryReply, encode, type ScriptCall } from './protocol.js'

export interface BatcherOptions {
  connection: RedisConnection
  /** The most limits in one call. */
  maxBatch: number
  /** The slot of a key. On one server every key has the same. */
  slotOf: (redisKey: string) => number
  /** The time to pass to the script; 0 for the server's own. */
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
 * Sends checks that arrive together in one call. While nothing is on the wire an entry leaves with everything else of
 * the same microtask: an idle system adds no latency. While calls are on the wire entries gather, and leave when one is
 * answered, or sooner if they fill a call. An entry whose caller has stopped waiting is never sent.
 *
 * On a cluster each node has a lane, whose calls do not declare their keys. An entry that the node does not execute,
 * because its slot has moved, is sent once more in the lane of its slot, which declares its keys: there the client follows
 * redirections. A node that does not accept undeclared keys is used through the lanes of its slots only.
 */
export function createBatcher(options: BatcherOptions) {
  const { connection, maxBatch, slotOf, timeUs, maxWaitMs, loop, testOf } = options
  /** By slot or node. */
  const lanes = new Map<number | string, Lane>()
  let pending = 0
  /** The server's time less this process's, in microseconds. */
  let serverOffsetUs = 0
  /** Runs while something is pending, and keeps the process alive for it: sockets do not. */
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
      if (connection.nodeOf(slot) !== node || nowMs < (lanes.get(slot)?.apartUntilMs ?? 0)) return undefined
    }
    const lane = lanes.get(node)
    return lane?.support === 'no' && nowMs < lane.testAgainMs ? undefined : node
  }

  /** Adds an entry to the lane that it belongs to now. */
  function place(one: Waiting): void {
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

  /** For an entry that was not executed. */
  function placeAgain(one: Waiting): void {
    place({ ...one, wasRejected: true })
  }

  /** Places the waiting entries again: their slots may be on another node by now. */
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
    const onWire = startCall(lane)
    let hasPassed = false
    try {
      const entries = testOf?.(node)
      if (entries !== undefined) {
        const answer = await callScript(connection, lane, () => encodeFor(lane, entries))
        hasPassed = decode(entries, answer).replies.every((reply) => !('failed' in reply))
      }
    } catch {
      // For any error: the lanes of the slots always work.
    }
    lane.onWire.delete(onWire)
    if (hasPassed) {
      lane.support = 'yes'
      schedule(lane)
    } else useSlotLanes(lane)
  }

  /** A call that is not full waits while others are on the wire. The longer the round trip, the more may be there. */
  function mayLeave({ limits, onWire, roundTrip }: Lane): boolean {
    if (limits === 0) return false
    const more = Math.min(Math.floor(roundTrip.ms()), MAX_CALLS_FOR_DISTANCE)
    return onWire.size < more + (limits >= maxBatch ? MAX_LIMITS_ON_WIRE / maxBatch : 1)
  }

  function schedule(lane: Lane): void {
    if (lane.isScheduled || !mayLeave(lane) || !canSend(lane) || !isSupported(lane)) return
    lane.isScheduled = true
    // After a batch, wait for the end of this turn of the event loop: a server reads each of its connections
    // separately. A resolved promise, not `queueMicrotask`: Node allocates an async resource for each call of that.
    if (performance.now() < lane.busyUntilMs) setImmediate(flush, lane)
    else void RESOLVED.then(() => flush(lane))
  }

  function flush(lane: Lane): void {
    lane.isScheduled = false
    if (!canSend(lane) || !isSupported(lane)) return
    const isApart = performance.now() < lane.apartUntilMs
    while (mayLeave(lane)) {
      const count = isApart ? countOfOneKey(lane.waiting, maxBatch) : countThatFits(lane.waiting, maxBatch)
      const batch = stillWanted(takeFirst(lane, count))
      if (batch.length > 0) void send(lane, batch)
    }
  }

  function startSweeper(): void {
    // Replies that have arrived are read first, however late the timer is.
    sweeper = setTimeout(() => setImmediate(sweep), maxWaitMs / SWEEPS)
  }

  /** Drops entries that have waited too long, and connections that have hung for several sweeps. */
  function sweep(): void {
    sweeper = undefined
    if (pending > 0) startSweeper()
    for (const lane of lanes.values()) {
      for (const call of lane.onWire) if (++call.sweeps === SWEEPS + 1) connection.leave?.(nodeOf(lane))
      if (lane.waiting.length === 0) continue
      const kept = stillWanted(takeFirst(lane, lane.waiting.length))
      lane.waiting = [...kept]
      for (const { entry } of kept) lane.limits += entry.limits.length
      placeAll(lane)
    }
  }

  /** The entries whose callers still wait; the others fail. */
  function stillWanted(batch: readonly Waiting[]): readonly Waiting[] {
    const nowMs = performance.now()
    const isWanted = ({ call, sinceMs }: Waiting) =>
      call === undefined ? nowMs - sinceMs < maxWaitMs : !call.abandoned
    if (batch.every(isWanted)) return batch
    return batch.filter((one) => {
      if (isWanted(one)) return true
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

  function fail({ reject }: Waiting, error: unknown): void {
    ended()
    reject(error)
  }

  function began(): void {
    if (pending++ > 0) return
    if (sweeper === undefined) startSweeper()
    else sweeper.ref()
  }

  function ended(): void {
    if (--pending === 0) sweeper?.unref()
  }

  function startCall(lane: Lane): OnWire {
    const onWire = { sentMs: loop.now(), sweeps: 0 }
    lane.onWire.add(onWire)
    return onWire
  }

  async function send(lane: Lane, batch: readonly Waiting[]): Promise<void> {
    const startMs = performance.now()
    const isAlone = lane.onWire.size === 0
    const onWire = startCall(lane)
    let sent = batch
    try {
      const answer = await callScript(connection, lane, () => {
        sent = stillWanted(sent)
        if (sent.length === 0) throw ABANDONED
        return encodeFor(lane, sent.map(entryOf))
      })
      const { timeUs: serverTimeUs, replies } = decode(sent.map(entryOf), answer)
      serverOffsetUs = serverTimeUs - Date.now() * 1000
      for (let i = 0; i < sent.length; i++) settle(lane, sent[i]!, replies[i]!)
    } catch (error) {
      settleFailed(lane, sent, error)
    } finally {
      lane.onWire.delete(onWire)
      const nowMs = performance.now()
      if (isAlone) lane.roundTrip.add(nowMs - startMs, nowMs)
      lane.busyUntilMs = batch.length > 1 ? nowMs + BUSY_MS : 0
      schedule(lane)
    }
  }

  /** Settles a call that failed as a whole. */
  function settleFailed(lane: Lane, sent: readonly Waiting[], error: unknown): void {
    let wasExecuted = true
    if (lane.node !== undefined && (error === NODE_UNKNOWN || rejectsUndeclaredKeys(error))) {
      wasExecuted = false
      useSlotLanes(lane)
    } else if (lane.slot !== undefined && isMoving(error)) {
      wasExecuted = false
      keepApart([lane.slot])
    }
    const failure = failureOf(error, connection.lostReason?.())
    for (const one of sent) {
      if (wasExecuted || one.wasRejected) fail(one, failure)
      else placeAgain(one)
    }
  }

  /** For slots that are moving. */
  function keepApart(slots: readonly number[]): void {
    for (const slot of slots) laneOf(slot).apartUntilMs = performance.now() + APART_MS
  }

  function settle(lane: Lane, one: Waiting, reply: EntryReply): void {
    if ('stale' in reply) {
      sendAgain(lane, one)
    } else if ('failed' in reply && lane.node !== undefined && isElsewhere(reply.failed)) {
      keepApart(one.slots)
      placeAgain(one)
    } else if ('failed' in reply && lane.node !== undefined && rejectsUndeclaredKeys(reply.failed)) {
      useSlotLanes(lane)
      placeAgain(one)
    } else if ('failed' in reply) {
      // Clients do not look for this error inside of a reply.
      if (reply.failed.message.startsWith('READONLY')) connection.leave?.(nodeOf(lane))
      fail(one, failureOf(reply.failed))
    } else {
      ended()
      one.resolve(reply)
    }
  }

  /** With the next call, before newer entries: the server's time is known now. */
  function sendAgain(lane: Lane, one: Waiting): void {
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
    for (const { sentMs } of lane?.onWire ?? []) return loop.now() - sentMs
    return 0
  }

  return {
    /**
     * Decides an entry whose limits are all in one slot, or on one node that passes its test; otherwise it fails with
     * `NOT_ON_ONE_NODE`. It takes callbacks: every caller has a promise already.
     */
    run(
      entry: Entry,
      call: Call | undefined,
      resolve: (reply: Decided) => void,
      reject: (error: unknown) => void,
    ): void {
      const slots = slotsOf(entry, slotOf)
      began()
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
     * For how long a call to this slot or its node has been unanswered, in event-loop time: infinite without a
     * connection, 0 if nothing is on the wire.
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
/** After a batch of several checks, more are expected to arrive together for this long. */
const BUSY_MS = 10
/** One more call per millisecond of round trip, so that a check rarely waits for an earlier reply. */
const MAX_CALLS_FOR_DISTANCE = 32
/**
 * The most limits in full calls to a server nearby. Calls that were sent together are answered together; with only two of
 * them, this process and the server would take turns, each waiting for the other.
 */
const MAX_LIMITS_ON_WIRE = 256
/** After a slot was found to be moving, its keys are sent one per call for this long. */
const APART_MS = 1000
/** A node that does not accept undeclared keys is tested again after this long. */
const TEST_AGAIN_MS = 5000

function entryOf({ entry }: Waiting): Entry {
  return entry
}

function slotsOf({ limits }: Entry, slotOf: (redisKey: string) => number): number[] {
  if (limits.length === 1) return [slotOf(limits[0]!.redisKey)]
  return [...new Set(limits.map(({ redisKey }) => slotOf(redisKey)))]
}
