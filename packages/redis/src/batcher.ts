import { type Call, type EventLoopTime, storeFailed, TidegateError } from '@tidegate/core'
import { type Decided, decode, type Entry, type EntryReply, encode, type ScriptCall } from './call.js'
import type { RedisConnection } from './connection.js'
import type { Script } from './script.js'

interface Waiting {
  entry: Entry
  /** Undefined for a caller without a deadline of its own: it waits for at most `maxWaitMs`. */
  call: Call | undefined
  sinceMs: number
  resolve: (reply: Decided) => void
  reject: (error: unknown) => void
}

/** The queue of one slot, and its calls on the wire. */
interface Lane {
  slot: number
  waiting: Waiting[]
  /** How many limits the waiting entries have. */
  limits: number
  /** Unanswered calls, oldest first. */
  onWire: Set<OnWire>
  isScheduled: boolean
  /** Until when more entries are expected to arrive together: the last call had more than one. */
  busyUntilMs: number
  roundTrip: ReturnType<typeof createRoundTrip>
  /** Until when each call has one key only: the slot is moving, and no node has all of its keys. */
  apartUntilMs: number
  /** The call that loads a missing script, and which script. */
  loading: { script: Script; call: Promise<unknown> } | undefined
}

interface OnWire {
  /** In event-loop time. */
  readonly sentMs: number
  /** How many sweeps it has been unanswered for. */
  sweeps: number
}

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
}

/**
 * Sends checks that arrive together in one call, slot by slot. While nothing is on the wire an entry leaves with
 * everything else of the same microtask: an idle system adds no latency. While calls are on the wire entries gather,
 * and leave when one is answered, or sooner if they fill a call. A node that does not answer holds up only its own
 * slots. An entry whose caller has stopped waiting is never sent.
 */
export function createBatcher(options: BatcherOptions) {
  const { connection, maxBatch, slotOf, timeUs, maxWaitMs, loop } = options
  const lanes = new Map<number, Lane>()
  let pending = 0
  /** Runs while something is pending, and keeps the process alive for it: sockets do not. */
  let sweeper: NodeJS.Timeout | undefined

  connection.onReady?.(() => {
    for (const lane of lanes.values()) schedule(lane)
  })
  connection.onLost?.(() => {
    for (const lane of lanes.values()) failIfUnreachable(lane)
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
        onWire: new Set(),
        isScheduled: false,
        busyUntilMs: 0,
        roundTrip: createRoundTrip(),
        apartUntilMs: 0,
        loading: undefined,
      }
      lanes.set(slot, lane)
    }
    return lane
  }

  /** A call that is not full waits while others are on the wire. The longer the round trip, the more may be there. */
  function mayLeave({ limits, onWire, roundTrip }: Lane): boolean {
    if (limits === 0) return false
    const more = Math.min(Math.floor(roundTrip.ms()), MAX_CALLS_FOR_DISTANCE)
    return onWire.size < more + (limits >= maxBatch ? MAX_LIMITS_ON_WIRE / maxBatch : 1)
  }

  function schedule(lane: Lane): void {
    if (lane.isScheduled || !mayLeave(lane) || !canSend(lane)) return
    lane.isScheduled = true
    // After a batch, everything of this turn of the event loop is waited for: a server reads each of its connections
    // separately. A resolved promise, not `queueMicrotask`: Node allocates an async resource for each call of that.
    if (performance.now() < lane.busyUntilMs) setImmediate(flush, lane)
    else void RESOLVED.then(() => flush(lane))
  }

  function flush(lane: Lane): void {
    lane.isScheduled = false
    if (!canSend(lane)) return
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
      for (const call of lane.onWire) if (++call.sweeps === SWEEPS + 1) connection.leave?.(lane.slot)
      if (lane.waiting.length === 0) continue
      const kept = stillWanted(takeFirst(lane, lane.waiting.length))
      lane.waiting = [...kept]
      for (const { entry } of kept) lane.limits += entry.limits.length
      schedule(lane)
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

  /** Fails waiting entries at once if there is no connection and the reason is known. */
  function failIfUnreachable(lane: Lane): void {
    if (lane.waiting.length === 0 || canSend(lane)) return
    const reason = connection.lostReason?.()
    if (reason === undefined) return
    const error = storeFailed('unreachable', `Redis is unreachable: ${reason}.`)
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

  async function send(lane: Lane, batch: readonly Waiting[]): Promise<void> {
    const startMs = performance.now()
    const isAlone = lane.onWire.size === 0
    const onWire = { sentMs: loop.now(), sweeps: 0 }
    lane.onWire.add(onWire)
    let sent = batch
    const encodeSent = () => encode(sent.map(entryOf), timeUs())
    try {
      let answer: unknown
      try {
        answer = await evaluate(encodeSent())
      } catch (error) {
        if (!lacksScript(error)) throw error
        answer = await evaluateWithScript(lane, () => {
          sent = stillWanted(sent)
          if (sent.length === 0) throw error
          return encodeSent()
        })
      }
      const replies = decode(sent.map(entryOf), answer)
      for (let i = 0; i < sent.length; i++) settle(lane, sent[i]!, replies[i]!)
    } catch (error) {
      if (isMoving(error)) lane.apartUntilMs = performance.now() + APART_MS
      const failure = failureOf(error, connection.lostReason?.())
      for (const one of sent) fail(one, failure)
    } finally {
      lane.onWire.delete(onWire)
      const nowMs = performance.now()
      if (isAlone) lane.roundTrip.add(nowMs - startMs, nowMs)
      lane.busyUntilMs = batch.length > 1 ? nowMs + BUSY_MS : 0
      schedule(lane)
    }
  }

  function settle(lane: Lane, one: Waiting, reply: EntryReply): void {
    if ('failed' in reply) {
      // It comes inside a reply, where no client looks for it.
      if (reply.failed.message.startsWith('READONLY')) connection.leave?.(lane.slot)
      fail(one, failureOf(reply.failed))
    } else {
      ended()
      one.resolve(reply)
    }
  }

  function evaluate({ script, args }: ScriptCall): Promise<unknown> {
    return connection.send(args[1]!, 'evalsha', [script.sha, ...args])
  }

  /**
   * When the server lacks the script, the first call sends the whole script, which the server then keeps; the others
   * wait for that call and try again. The script is longer than a thousand checks, so not every call of a full
   * connection should carry it. Each attempt is encoded again, without entries that have been abandoned.
   */
  async function evaluateWithScript(lane: Lane, encodeWanted: () => ScriptCall): Promise<unknown> {
    let { script, args } = encodeWanted()
    for (let attempt = 2; lane.loading?.script === script && attempt <= MAX_ATTEMPTS; attempt++) {
      await lane.loading.call.catch(() => {})
      try {
        return await evaluate(encodeWanted())
      } catch (error) {
        if (!lacksScript(error)) throw error
      }
      ;({ script, args } = encodeWanted())
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
    /** Decides an entry whose limits are all in one slot. It takes callbacks: every caller has a promise already. */
    run(
      entry: Entry,
      call: Call | undefined,
      resolve: (reply: Decided) => void,
      reject: (error: unknown) => void,
    ): void {
      const lane = laneOf(slotOf(entry.limits[0]!.redisKey))
      lane.waiting.push({ entry, call, sinceMs: performance.now(), resolve, reject })
      lane.limits += entry.limits.length
      began()
      schedule(lane)
      if (!lane.isScheduled) failIfUnreachable(lane)
    },

    /**
     * For how long a call to this slot has been unanswered, in event-loop time: infinite without a connection, 0 if
     * nothing is on the wire.
     */
    silentMs(slot: number): number {
      const lane = laneOf(slot)
      if (!canSend(lane)) return Number.POSITIVE_INFINITY
      for (const { sentMs } of lane.onWire) return loop.now() - sentMs
      return 0
    },

    /** Fails what waits. */
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
export const ABANDONED = storeFailed('overload', 'The caller has stopped waiting.')
/** How often within `maxWaitMs` waiting entries are looked at. */
const SWEEPS = 4
/** After a batch of several checks, more are expected to arrive together for this long. */
const BUSY_MS = 10
/** One more call per millisecond of round trip, so that a check rarely waits for an earlier reply. */
const MAX_CALLS_FOR_DISTANCE = 32
/**
 * Full calls to a server nearby: as many as have this many limits. Calls that were sent together are answered
 * together; with only two of them, this process and the server would take turns, each waiting for the other.
 */
const MAX_LIMITS_ON_WIRE = 256
/** After a slot was found to be moving, its keys are sent one per call for this long. */
const APART_MS = 1000
/** After this many attempts the call carries the script itself: something keeps flushing scripts. */
const MAX_ATTEMPTS = 3

/** How many of the first entries fit into a call of at most `maxBatch` limits; a larger entry gets its own call. */
function countThatFits(waiting: readonly Waiting[], maxBatch: number): number {
  let count = 0
  let limits = 0
  while (count < waiting.length) {
    limits += waiting[count]!.entry.limits.length
    if (limits > maxBatch && count > 0) break
    count++
  }
  return count
}

/** The same, counting only entries of the first one's key. A take of several keys gets its own call. */
function countOfOneKey(waiting: readonly Waiting[], maxBatch: number): number {
  const [first, ...others] = waiting[0]!.entry.limits
  if (others.length > 0) return 1
  const isOther = ({ entry: { limits } }: Waiting) =>
    limits.length > 1 || limits[0]!.redisKey !== first!.redisKey
  const count = waiting.slice(0, maxBatch).findIndex(isOther)
  return count < 0 ? Math.min(waiting.length, maxBatch) : count
}

/**
 * The distance of a server: its shortest recent round trip, of calls that had the wire to themselves. Round trips under
 * load say how much there is to do, not how far the server is.
 */
function createRoundTrip() {
  let currentMs = 0
  let previousMs = 0
  let windowEndsMs = 0
  return {
    add(roundTripMs: number, nowMs: number): void {
      if (nowMs >= windowEndsMs) {
        previousMs = windowEndsMs === 0 ? roundTripMs : currentMs
        currentMs = roundTripMs
        windowEndsMs = nowMs + ROUND_TRIP_WINDOW_MS
      } else currentMs = Math.min(currentMs, roundTripMs)
    },
    ms: () => Math.min(currentMs, previousMs),
  }
}

const ROUND_TRIP_WINDOW_MS = 10_000

function entryOf({ entry }: Waiting): Entry {
  return entry
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

/** What a cluster replies about several keys while their slot moves; ioredis retries before it reports it. */
function isMoving(error: unknown): boolean {
  return /^TRYAGAIN|^Too many Cluster redirections.*\b(?:TRYAGAIN|ASK)\b/.test(
    String((error as Error)?.message),
  )
}

function failureOf(error: unknown, lostReason?: string): TidegateError {
  if (error instanceof TidegateError) return error
  const reason = error instanceof Error ? error.message : String(error)
  const lost =
    lostReason === undefined
      ? ''
      : ` The connection was lost (${lostReason}): check that Redis is up and its address is right.`
  return new TidegateError('STORE_FAILED', `Redis failed a call: ${reason}.${lost}`, { cause: error })
}
