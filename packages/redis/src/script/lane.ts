import type { Call } from '@tidegate/core'
import type { Script } from './load.js'
import type { Decided, Entry } from './protocol.js'
import { createRoundTrip } from './round-trip.js'

export interface Waiting {
  entry: Entry
  /** The slots of its limits, without repetition. */
  slots: readonly number[]
  /** Whether it has been sent again, because its calendar windows were not the server's. */
  isSecond: boolean
  /** Whether a node has rejected it, because its slot has moved or its keys were not declared. */
  wasRejected: boolean
  /** Undefined for a caller without a deadline of its own: it waits for at most `maxWaitMs`. */
  call: Call | undefined
  sinceMs: number
  resolve: (reply: Decided) => void
  reject: (error: unknown) => void
}

export interface OnWire {
  /** In event-loop time. */
  readonly sentMs: number
  /** How many sweeps it has been unanswered for. */
  sweeps: number
}

/** The queue of one slot or of one node of a cluster, and its calls on the wire. On one server all keys are in slot 0. */
export interface Lane {
  /** The slot, of a lane that declares its keys. */
  readonly slot: number | undefined
  /** The node, of a lane for all slots of a node. */
  readonly node: string | undefined
  /** For a node: whether it executes scripts whose keys are not declared. */
  support: 'unknown' | 'testing' | 'yes' | 'no'
  /** For a node without this support: when it is tested again. */
  testAgainMs: number
  waiting: Waiting[]
  /** How many limits the waiting entries have. */
  limits: number
  /** Unanswered calls, oldest first. */
  onWire: Set<OnWire>
  isScheduled: boolean
  /** Until when more entries are expected to arrive together: the last call had more than one. */
  busyUntilMs: number
  roundTrip: ReturnType<typeof createRoundTrip>
  /** For a slot: until when each call has one key only. The slot is moving, and no node has all of its keys. */
  apartUntilMs: number
  /** The call that loads a missing script, and which script. */
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
    onWire: new Set(),
    isScheduled: false,
    busyUntilMs: 0,
    roundTrip: createRoundTrip(),
    apartUntilMs: 0,
    loading: undefined,
  }
}

export function takeFirst(lane: Lane, count: number): Waiting[] {
  if (count === 0) return []
  const taken = lane.waiting.splice(0, count)
  for (const { entry } of taken) lane.limits -= entry.limits.length
  return taken
}

/** How many of the first entries fit into a call of at most `maxBatch` limits; a larger entry gets its own call. */
export function countThatFits(waiting: readonly Waiting[], maxBatch: number): number {
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
export function countOfOneKey(waiting: readonly Waiting[], maxBatch: number): number {
  const [first, ...others] = waiting[0]!.entry.limits
  if (others.length > 0) return 1
  const isOther = ({ entry: { limits } }: Waiting) =>
    limits.length > 1 || limits[0]!.redisKey !== first!.redisKey
  const count = waiting.slice(0, maxBatch).findIndex(isOther)
  return count < 0 ? Math.min(waiting.length, maxBatch) : count
}
