import type { Call } from '@tidegate/core'
import type { Script } from './load.js'
import type { Entry, EntryResult } from './protocol.js'
import { createRoundTrip } from './round-trip.js'

/** An entry that has not been sent yet. */
export interface QueuedEntry {
  entry: Entry
  /** The slots of its limits, without repetition. */
  slots: readonly number[]
  /** Whether it has been sent again, because its calendar windows were not the server's. */
  isSecond: boolean
  /** Whether a node has rejected it, because its slot has moved or its keys were not declared. */
  wasRejected: boolean
  /** Undefined for a caller without its own deadline, which waits for at most `maxWaitMs`. */
  call: Call | undefined
  sinceMs: number
  resolve: (reply: EntryResult) => void
  reject: (error: unknown) => void
}

/** A call without a reply yet. */
export interface SentCall {
  /** In event-loop time. */
  readonly sentMs: number
  /** The number of sweeps since it was sent. */
  sweeps: number
}

/** The queue of one slot or one node of a cluster, and its calls in flight. On a single server, all keys are in slot 0. */
export interface Lane {
  /** The slot of a lane that declares its keys. */
  readonly slot: number | undefined
  /** The node of a lane for all of its slots. */
  readonly node: string | undefined
  /** For a node: whether it executes scripts that do not declare their keys. */
  support: 'unknown' | 'testing' | 'yes' | 'no'
  /** For a node without this support: the time of the next test. */
  testAgainMs: number
  waiting: QueuedEntry[]
  /** The number of limits of the waiting entries. */
  limits: number
  /** Calls without a reply, oldest first. */
  sentCalls: Set<SentCall>
  isScheduled: boolean
  /** Until this time, more entries are expected to arrive together, because the last call had more than one. */
  busyUntilMs: number
  roundTrip: ReturnType<typeof createRoundTrip>
  /** For a slot: until this time, each call has only one key, because the slot is moving and no node has all of its keys. */
  singleKeyUntilMs: number
  /** The call that loads a missing script, and the script. */
  loading: { script: Script; call: Promise<unknown> } | undefined
}

export function createLane(of: { slot: number } | { node: string }): Lane {
  return {
    slot: 'slot' in of ? of.slot : undefined,
    node: 'node' in of ? of.node : undefined,
    support: 'unknown',
    testAgainMs: 0,
    waiting: [],
    limits: 0,
    sentCalls: new Set(),
    isScheduled: false,
    busyUntilMs: 0,
    roundTrip: createRoundTrip(),
    singleKeyUntilMs: 0,
    loading: undefined,
  }
}

export function takeFirst(lane: Lane, count: number): QueuedEntry[] {
  if (count === 0) return []
  const taken = lane.waiting.splice(0, count)
  for (const { entry } of taken) lane.limits -= entry.limits.length
  return taken
}

/** The number of first entries that fit into a call of `maxBatch` limits. A larger entry gets its own call. */
export function countThatFits(waiting: readonly QueuedEntry[], maxBatch: number): number {
  let count = 0
  let limits = 0
  while (count < waiting.length) {
    limits += waiting[count]!.entry.limits.length
    if (limits > maxBatch && count > 0) break
    count++
  }
  return count
}

/** Like `countThatFits`, but only for entries with the key of the first one. A take of several keys gets its own call. */
export function countOfOneKey(waiting: readonly QueuedEntry[], maxBatch: number): number {
  const [first, ...others] = waiting[0]!.entry.limits
  if (others.length > 0) return 1
  const isOther = ({ entry: { limits } }: QueuedEntry) =>
    limits.length > 1 || limits[0]!.redisKey !== first!.redisKey
  const count = waiting.slice(0, maxBatch).findIndex(isOther)
  return count < 0 ? Math.min(waiting.length, maxBatch) : count
}
