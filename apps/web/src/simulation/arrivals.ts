/*
 * Arrival times of requests: milliseconds from the start of the axis, rounded to microseconds, ascending.
 * Several requests may share a time.
 */

export const TRAFFIC_KINDS = ['steady', 'bursts', 'boundary', 'ramp', 'random', 'drawn'] as const
export type TrafficKind = (typeof TRAFFIC_KINDS)[number]

export type Traffic =
  | { readonly kind: 'steady'; readonly perWindow: number }
  | { readonly kind: 'bursts'; readonly size: number; readonly everyMs: number }
  /**
   * `size` requests in the last `leadMs` of a window, and `size` in the first `leadMs` of the next, which starts at
   * `boundaryMs`. Default: at the end of the first window of the axis.
   */
  | {
      readonly kind: 'boundary'
      readonly size: number
      readonly leadMs: number
      readonly boundaryMs?: number
    }
  /** The rate grows from 0 to `perWindow` at the end of the axis. */
  | { readonly kind: 'ramp'; readonly perWindow: number }
  | { readonly kind: 'random'; readonly perWindow: number; readonly seed: number }
  /** Requests per cell; the cells divide the axis evenly. */
  | { readonly kind: 'drawn'; readonly cells: readonly number[] }

/** Later requests are left out: more would overlap in the charts and slow down playback. */
export const MAX_ARRIVALS = 6000

export function arrivalsOf(
  traffic: Traffic,
  windowMs: number,
  spanMs: number,
): { arrivals: number[]; isCut: boolean } {
  const arrivals: number[] = []
  for (const time of timesOf(traffic, windowMs, spanMs)) {
    if (time >= spanMs) continue
    if (arrivals.length === MAX_ARRIVALS) return { arrivals, isCut: true }
    arrivals.push(Math.round(time * 1000) / 1000)
  }
  return { arrivals, isCut: false }
}

function* timesOf(traffic: Traffic, windowMs: number, spanMs: number): Generator<number> {
  switch (traffic.kind) {
    case 'steady': {
      const gap = windowMs / traffic.perWindow
      // Start in the middle of the first gap, so that rounding cannot put a request on a window boundary.
      for (let i = 0; (i + 0.5) * gap < spanMs; i++) yield (i + 0.5) * gap
      return
    }
    case 'bursts':
      for (let at = traffic.everyMs / 2; at < spanMs; at += traffic.everyMs) yield* repeat(at, traffic.size)
      return
    case 'boundary': {
      const { size, leadMs, boundaryMs = windowMs } = traffic
      yield* spread(boundaryMs - leadMs, leadMs, size)
      yield* spread(boundaryMs, leadMs, size)
      return
    }
    case 'ramp': {
      // With a linearly growing rate, the time of the i-th request is proportional to the square root of i.
      const total = (traffic.perWindow * spanMs) / windowMs / 2
      for (let i = 0; i < total; i++) yield spanMs * Math.sqrt((i + 0.5) / total)
      return
    }
    case 'random': {
      const next = randomNumbers(traffic.seed)
      const gap = windowMs / traffic.perWindow
      for (let at = exponentialGap(next, gap); at < spanMs; at += exponentialGap(next, gap)) yield at
      return
    }
    case 'drawn': {
      const cellMs = spanMs / traffic.cells.length
      for (const [i, count] of traffic.cells.entries()) yield* spread(i * cellMs, cellMs, count)
    }
  }
}

function* repeat(at: number, count: number): Generator<number> {
  for (let i = 0; i < count; i++) yield at
}

function* spread(from: number, length: number, count: number): Generator<number> {
  for (let i = 0; i < count; i++) yield from + ((i + 0.5) * length) / count
}

/** The gap between two independent requests: exponentially distributed with the given mean. */
function exponentialGap(next: () => number, mean: number): number {
  return -Math.log(1 - next()) * mean
}

/** A seeded generator that is the same in every browser, so that a link reproduces the traffic. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}
