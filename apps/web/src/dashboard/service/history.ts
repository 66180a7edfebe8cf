import type { LiveEvent } from 'tidegate/dist/live/live-event.js'
import { createRing, type Ring } from './ring.js'

/** The last five minutes for the charts, in bounded memory. */
export interface History {
  readonly last: LiveEvent | undefined
  add(event: LiveEvent): void
  /** Allowed and denied checks per second, of one policy or of all. */
  rates(policy: string | undefined): Lines
  /** Latency p50 and p99 in milliseconds. */
  latencies(): Lines
  clear(): void
  /** Calls `listener` after every event. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void
}

/** Seconds since the epoch, and the values of two lines; null is a gap. */
export type Lines = [number[], (number | null)[], (number | null)[]]

const SHOWN_SECONDS = 300
const LEAST_SECONDS = 60
const MAX_POLICIES = 200
/** Events further apart than this have a gap between them in the charts. */
const GAP_MS = 5000

/** The length of the time axis for these lines, from one to five minutes. */
export function spanOf([seconds]: Lines): number {
  const passed = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0)
  return Math.min(SHOWN_SECONDS, Math.max(LEAST_SECONDS, passed))
}

interface Pair {
  readonly a: Ring
  readonly b: Ring
}

export function createHistory(): History {
  const listeners = new Set<() => void>()
  let timesMs = createRing(SHOWN_SECONDS)
  let total = pair()
  let checkMs = pair()
  let policies = new Map<string, Pair>()
  let last: LiveEvent | undefined

  function clear(): void {
    timesMs = createRing(SHOWN_SECONDS)
    total = pair()
    checkMs = pair()
    policies = new Map()
    last = undefined
  }

  function addGap(timeMs: number): void {
    timesMs.push(timeMs)
    for (const { a, b } of [total, checkMs, ...policies.values()]) {
      a.push(Number.NaN)
      b.push(Number.NaN)
    }
  }

  function add(event: LiveEvent): void {
    const before = timesMs.last
    // If the clock of the service was set back, start a new history.
    if (before !== undefined && event.timeMs < before) clear()
    else if (before !== undefined && event.timeMs - before > GAP_MS) addGap(before + 1)
    last = event
    // The first event of a connection has no rates.
    if (event.seconds === 0) return
    const earlier = timesMs.length
    timesMs.push(event.timeMs)
    push(total, event.total.allowed, event.total.denied)
    push(checkMs, event.checkMs?.p50, event.checkMs?.p99)
    const tracked = event.policies.slice(0, MAX_POLICIES)
    for (const { name, allowed, denied } of tracked) {
      let lines = policies.get(name)
      if (lines === undefined) {
        lines = pair()
        for (let i = 0; i < earlier; i++) push(lines, undefined, undefined)
        policies.set(name, lines)
      }
      push(lines, allowed, denied)
    }
    const names = new Set(tracked.map(({ name }) => name))
    for (const name of policies.keys()) if (!names.has(name)) policies.delete(name)
  }

  function linesOf({ a, b }: Pair): Lines {
    return [timesMs.values().map((timeMs) => (timeMs ?? 0) / 1000), a.values(), b.values()]
  }

  return {
    get last() {
      return last
    },
    add(event) {
      add(event)
      for (const listener of listeners) listener()
    },
    rates: (policy) => linesOf((policy === undefined ? undefined : policies.get(policy)) ?? total),
    latencies: () => linesOf(checkMs),
    clear,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function pair(): Pair {
  return { a: createRing(SHOWN_SECONDS), b: createRing(SHOWN_SECONDS) }
}

function push({ a, b }: Pair, first: number | undefined, second: number | undefined): void {
  a.push(first ?? Number.NaN)
  b.push(second ?? Number.NaN)
}
