import { TidegateError } from '@tidegate/core'
import { type Call, type Decided, decode, type Entry, type EntryReply, encode } from './call.js'
import type { RedisConnection } from './connection.js'
import type { Script } from './script.js'

interface Waiting {
  entry: Entry
  sinceMs: number
  /** How long it may wait. */
  waitMs: number
  resolve: (reply: Decided) => void
  reject: (error: unknown) => void
}

/** What goes to one slot: what waits, and how many calls are on their way. */
interface Lane {
  slot: number
  waiting: Waiting[]
  /** How many limits all that waits has. */
  limits: number
  inFlight: number
  isScheduled: boolean
  /** Since when. */
  scheduledMs: number
  /** Until when others are expected to come along: the last call that came back had more than one check in it. */
  busyUntilMs: number
  /** Whether the last answer was here soon. */
  isNear: boolean
  /** Until when each call has one key only: the slot moves from node to node, and no node has all of its keys. */
  apartUntilMs: number
  /** The call that brings a script to a server that does not have it, and which. */
  loading: { script: Script; call: Promise<unknown> } | undefined
}

export interface BatcherOptions {
  connection: RedisConnection
  /** The most limits in one call. */
  maxBatch: number
  /** The slot of a key. On one server every key has the same. */
  slotOf: (redisKey: string) => number
  /** The time to pass to the script; 0 for the server's own. */
  timeUs: () => number
  /** How long an entry may wait before it is sent, in milliseconds, unless a deadline is told. */
  maxWaitMs: number
}

/**
 * Checks that come together travel together, slot by slot. While nothing is on its way an entry leaves with whatever
 * else was made in the same breath: an idle system waits for nothing. While calls are on their way, or while there is
 * no connection, entries gather, and leave when one comes back, or sooner if they fill a call. A node that does not
 * answer holds up its own slots and no others. Nothing is sent that has waited too long: whoever made it has long been
 * answered without it.
 */
export function createBatcher({ connection, maxBatch, slotOf, timeUs, maxWaitMs }: BatcherOptions) {
  const maxFullInFlight = Math.max(2 * MAX_IN_FLIGHT_FAR, MAX_LIMITS_IN_FLIGHT / maxBatch)
  /** Those of all slots that ever had something to do. */
  const lanes = new Map<number, Lane>()
  /** The longest that somebody who calls has said to wait, and how long an entry does: at first for a connection. */
  let toldMs = 0
  let waitMs = maxWaitMs
  let wasReady = connection.isReady === undefined
  let watching: NodeJS.Timeout | undefined

  connection.onReady?.(() => {
    wasReady = true
    if (toldMs > 0) waitMs = toldMs
    for (const lane of lanes.values()) schedule(lane)
  })

  function canSend(lane: Lane): boolean {
    return connection.isReady?.(lane.slot) ?? true
  }

  function laneOf(slot: number): Lane {
    let lane = lanes.get(slot)
    if (lane === undefined) {
      lane = {
        slot,
        waiting: [],
        limits: 0,
        inFlight: 0,
        isScheduled: false,
        scheduledMs: 0,
        busyUntilMs: 0,
        isNear: false,
        apartUntilMs: 0,
        loading: undefined,
      }
      lanes.set(slot, lane)
    }
    return lane
  }

  /** A full call has nothing to gather for. */
  function mayLeave({ limits, inFlight, isNear }: Lane): boolean {
    if (limits >= maxBatch) return inFlight < maxFullInFlight
    return limits > 0 && inFlight < (isNear ? MAX_IN_FLIGHT_NEAR : MAX_IN_FLIGHT_FAR)
  }

  function schedule(lane: Lane): void {
    if (lane.isScheduled || !mayLeave(lane) || !canSend(lane)) return
    lane.isScheduled = true
    lane.scheduledMs = performance.now()
    // Where others came along just now, all that comes in this turn of the event loop is waited for: a server reads each of
    // its connections by itself. `NOW`, not `queueMicrotask`: Node makes an async resource for each call of that.
    if (lane.scheduledMs < lane.busyUntilMs) setImmediate(flush, lane)
    else void NOW.then(() => flush(lane))
  }

  function flush(lane: Lane): void {
    lane.isScheduled = false
    if (!canSend(lane)) {
      if (lane.limits > 0) watch()
      return
    }
    // A turn that takes long is this process's doing: what could have left before it is not too old for it.
    dropOld(lane, lane.scheduledMs)
    const nowMs = performance.now()
    while (mayLeave(lane)) {
      // Not only the first are old: who came before there was a connection may wait longer than who came after.
      const count =
        nowMs < lane.apartUntilMs ? ofOneKey(lane.waiting, maxBatch) : fitting(lane.waiting, maxBatch)
      const batch = stillWanted(takeFirst(lane, count), lane.scheduledMs)
      if (batch.length > 0) void send(lane, batch, nowMs)
    }
    if (lane.limits > 0) watch()
  }

  /** Looks after what waits, from time to time. Where this process was busy, what has arrived is read first. */
  function watch(): void {
    watching ??= setTimeout(() => setImmediate(lookAfter), waitMs)
  }

  function lookAfter(): void {
    watching = undefined
    const nowMs = performance.now()
    for (const lane of lanes.values()) {
      dropOld(lane, nowMs)
      if (lane.limits > 0) watch()
    }
  }

  function dropOld(lane: Lane, nowMs: number): void {
    const young = lane.waiting.findIndex((one) => isWanted(one, nowMs))
    stillWanted(takeFirst(lane, young < 0 ? lane.waiting.length : young), nowMs)
  }

  /** Those that have not waited too long; the others fail. */
  function stillWanted(batch: readonly Waiting[], nowMs: number): readonly Waiting[] {
    if (batch.every((one) => isWanted(one, nowMs))) return batch
    return batch.filter((one) => {
      if (isWanted(one, nowMs)) return true
      const waited = new Error(`nothing could be sent for ${one.waitMs} ms`)
      one.reject(storeFailed(waited, connection.whyLost?.()))
      return false
    })
  }

  async function send(lane: Lane, batch: readonly Waiting[], sentMs: number): Promise<void> {
    lane.inFlight++
    let asked = batch
    const callOfAsked = () => encode(asked.map(entryOf), timeUs())
    try {
      let answer: unknown
      try {
        answer = await ask(callOfAsked())
      } catch (error) {
        if (!lacksScript(error)) throw error
        answer = await askWithScript(lane, () => {
          asked = stillWanted(asked, performance.now())
          if (asked.length === 0) throw error
          return callOfAsked()
        })
      }
      const replies = decode(asked.map(entryOf), answer)
      for (let i = 0; i < asked.length; i++) settle(asked[i]!, replies[i]!)
    } catch (error) {
      if (isMoving(error)) lane.apartUntilMs = performance.now() + APART_MS
      const failed = storeFailed(error, connection.whyLost?.())
      for (const one of batch) one.reject(failed)
    } finally {
      const nowMs = performance.now()
      lane.inFlight--
      lane.isNear = nowMs - sentMs < NEAR_MS
      lane.busyUntilMs = batch.length > 1 ? nowMs + BUSY_MS : 0
      schedule(lane)
    }
  }

  function settle(one: Waiting, reply: EntryReply): void {
    if ('failed' in reply) {
      // It comes inside an answer, where no client looks for it.
      if (reply.failed.message.startsWith('READONLY')) connection.leave?.()
      one.reject(storeFailed(reply.failed))
    } else one.resolve(reply)
  }

  function ask({ script, args }: Call): Promise<unknown> {
    return connection.send(args[1]!, 'evalsha', [script.sha, ...args])
  }

  /**
   * Where the server does not have the script, the first call that hears so sends the script itself, which then
   * stays there; the others wait for that one and ask again. The script is longer than a thousand checks, so that
   * not every call of a full connection should bring it. Each time the call is made anew, of what is still wanted.
   */
  async function askWithScript(lane: Lane, callOfWanted: () => Call): Promise<unknown> {
    let { script, args } = callOfWanted()
    for (let attempt = 2; lane.loading?.script === script && attempt <= MAX_ATTEMPTS; attempt++) {
      await lane.loading.call.catch(() => {})
      try {
        return await ask(callOfWanted())
      } catch (error) {
        if (!lacksScript(error)) throw error
      }
      ;({ script, args } = callOfWanted())
    }
    const loading = { script, call: connection.send(args[1]!, 'eval', [script.text, ...args]) }
    lane.loading = loading
    try {
      return await loading.call
    } finally {
      if (lane.loading === loading) lane.loading = undefined
    }
  }

  return {
    /** Whoever calls gives up after so long: from then on nothing needs to be sent. Of several the longest holds. */
    expectDeadline(ms: number): void {
      toldMs = Math.max(toldMs, ms)
      if (wasReady) waitMs = toldMs
    },

    /** For what is asked in several steps: whether the next is still wanted. Its time begins now, as an entry's does. */
    patience(): () => boolean {
      const untilMs = performance.now() + waitMs
      return () => performance.now() < untilMs
    },

    /** Decides an entry whose limits are all in one slot. No promise: whoever asks has one. */
    run(entry: Entry, resolve: (reply: Decided) => void, reject: (error: unknown) => void): void {
      const lane = laneOf(slotOf(entry.limits[0]!.redisKey))
      lane.waiting.push({ entry, sinceMs: performance.now(), waitMs, resolve, reject })
      lane.limits += entry.limits.length
      schedule(lane)
      if (!lane.isScheduled) watch()
    },

    /** Fails what waits, and lets go of the timer: a program that is done should end. */
    close(): void {
      clearTimeout(watching)
      const closed = storeFailed(new Error('the store was closed'))
      for (const lane of lanes.values()) {
        for (const one of takeFirst(lane, lane.waiting.length)) one.reject(closed)
      }
    },
  }
}

const NOW = Promise.resolve()
/** An answer that takes no longer comes from a server nearby. */
const NEAR_MS = 1
/** For so long after an answer to several checks, several are expected to come together again. */
const BUSY_MS = 10
/**
 * Calls that are not full. Far away two: a check that finds one on its way need not wait until it is back. Nearby that
 * is soon, and half as many calls of twice the size cost this process and the server less.
 */
const MAX_IN_FLIGHT_FAR = 2
const MAX_IN_FLIGHT_NEAR = 1
/**
 * Full calls: so many that they have this many limits in them, and at least twice as many as others. Calls that were
 * sent together are answered together, and with two of them this process and the server would take turns, each
 * waiting for the other.
 */
const MAX_LIMITS_IN_FLIGHT = 256
/** For so long after a slot was found to be moving, its keys are asked for one by one. */
const APART_MS = 1000
/** After so many times without the script, a call brings it itself: somebody keeps flushing. */
const MAX_ATTEMPTS = 3

/** How many of the first fit into a call of at most `maxBatch` limits; one with more has a call to itself. */
function fitting(waiting: readonly Waiting[], maxBatch: number): number {
  let count = 0
  let limits = 0
  while (count < waiting.length) {
    limits += waiting[count]!.entry.limits.length
    if (limits > maxBatch && count > 0) break
    count++
  }
  return count
}

/** The same of those alone that ask for the first one's key. A take of several keys has a call to itself. */
function ofOneKey(waiting: readonly Waiting[], maxBatch: number): number {
  const [first, ...others] = waiting[0]!.entry.limits
  if (others.length > 0) return 1
  const isOther = ({ entry: { limits } }: Waiting) =>
    limits.length > 1 || limits[0]!.redisKey !== first!.redisKey
  const count = waiting.slice(0, maxBatch).findIndex(isOther)
  return count < 0 ? Math.min(waiting.length, maxBatch) : count
}

function entryOf({ entry }: Waiting): Entry {
  return entry
}

function isWanted({ sinceMs, waitMs }: Waiting, nowMs: number): boolean {
  return nowMs - sinceMs < waitMs
}

function takeFirst(lane: Lane, count: number): Waiting[] {
  if (count === 0) return []
  const taken = lane.waiting.splice(0, count)
  for (const { entry } of taken) lane.limits -= entry.limits.length
  return taken
}

function lacksScript(error: unknown): boolean {
  return String((error as Error)?.message).startsWith('NOSCRIPT')
}

/** What a cluster says of several keys while their slot moves; ioredis asks a few times before it says so in its words. */
function isMoving(error: unknown): boolean {
  return /^TRYAGAIN|^Too many Cluster redirections.*\b(?:TRYAGAIN|ASK)\b/.test(
    String((error as Error)?.message),
  )
}

function storeFailed(error: unknown, whyLost?: string): TidegateError {
  if (error instanceof TidegateError) return error
  const reason = error instanceof Error ? error.message : String(error)
  const lost =
    whyLost === undefined ? '' : ` The connection was lost (${whyLost}): is it up, and the address right?`
  return new TidegateError('STORE_FAILED', `Redis could not answer: ${reason}.${lost}`, { cause: error })
}
