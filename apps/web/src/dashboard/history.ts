import type { LiveEvent } from './live-event.js'
import { createRing, type Ring } from './ring.js'

/** The last minutes, as far as charts show them. It never holds more than so many moments of so many policies. */
export interface History {
  readonly last: LiveEvent | undefined
  add(event: LiveEvent): void
  /** Allowed and refused per second: of one policy, or of all. */
  rates(policy: string | undefined): Lines
  /** Milliseconds. */
  times(): Lines
  clear(): void
  /** Told of every event. */
  subscribe(listener: () => void): () => void
}

/** Seconds before the last moment, and two lines above them. */
export type Lines = [number[], (number | null)[], (number | null)[]]

const SHOWN_SECONDS = 300
const LEAST_SECONDS = 60
const MAX_POLICIES = 200
/** Between two moments that are further apart, nobody looked. */
const GAP_MS = 5000

/** How many seconds a chart of these lines shows: what there is, up to five minutes. */
export function spanOf([seconds]: Lines): number {
  return Math.min(SHOWN_SECONDS, Math.max(LEAST_SECONDS, -(seconds[0] ?? 0)))
}

interface Pair {
  readonly a: Ring
  readonly b: Ring
}

export function createHistory(): History {
  const listeners = new Set<() => void>()
  let moments = createRing(SHOWN_SECONDS)
  let total = pair()
  let checkMs = pair()
  let policies = new Map<string, Pair>()
  let last: LiveEvent | undefined

  function clear(): void {
    moments = createRing(SHOWN_SECONDS)
    total = pair()
    checkMs = pair()
    policies = new Map()
    last = undefined
  }

  function addGap(timeMs: number): void {
    moments.push(timeMs)
    for (const { a, b } of [total, checkMs, ...policies.values()]) {
      a.push(Number.NaN)
      b.push(Number.NaN)
    }
  }

  function add(event: LiveEvent): void {
    const before = moments.last
    // A clock that was set back begins a new history.
    if (before !== undefined && event.timeMs < before) clear()
    else if (before !== undefined && event.timeMs - before > GAP_MS) addGap(before + 1)
    last = event
    // The first event after connecting has nothing to compare with.
    if (event.seconds === 0) return
    const known = moments.length
    moments.push(event.timeMs)
    push(total, event.total.allowed, event.total.refused)
    push(checkMs, event.checkMs?.p50, event.checkMs?.p99)
    const shown = event.policies.slice(0, MAX_POLICIES)
    for (const { name, allowed, refused } of shown) {
      let lines = policies.get(name)
      if (lines === undefined) {
        lines = pair()
        for (let i = 0; i < known; i++) push(lines, undefined, undefined)
        policies.set(name, lines)
      }
      push(lines, allowed, refused)
    }
    const names = new Set(shown.map(({ name }) => name))
    for (const name of policies.keys()) if (!names.has(name)) policies.delete(name)
  }

  function linesOf({ a, b }: Pair): Lines {
    const end = moments.last ?? 0
    return [moments.values().map((timeMs) => ((timeMs ?? end) - end) / 1000), a.values(), b.values()]
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
    times: () => linesOf(checkMs),
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
