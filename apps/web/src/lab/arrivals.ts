/*
 * When requests come. Times are milliseconds from the start of the axis, whole microseconds, ascending;
 * several requests may share one.
 */

export const TRAFFIC_KINDS = ['steady', 'bursts', 'boundary', 'ramp', 'random', 'drawn'] as const
export type TrafficKind = (typeof TRAFFIC_KINDS)[number]

export type Traffic =
  | { readonly kind: 'steady'; readonly perWindow: number }
  | { readonly kind: 'bursts'; readonly size: number; readonly everyMs: number }
  /** `size` requests in the last `leadMs` of a window, and as many in the first of the next. */
  | { readonly kind: 'boundary'; readonly size: number; readonly leadMs: number }
  /** From nothing to `perWindow` at the end of the axis. */
  | { readonly kind: 'ramp'; readonly perWindow: number }
  | { readonly kind: 'random'; readonly perWindow: number; readonly seed: number }
  /** How many in each cell; the cells divide the axis evenly. */
  | { readonly kind: 'drawn'; readonly cells: readonly number[] }

/** More would be drawn on top of each other, and would cost frames. What comes later is left out. */
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
      // From the middle of the first gap, so that no request falls on a boundary by chance of rounding.
      for (let i = 0; (i + 0.5) * gap < spanMs; i++) yield (i + 0.5) * gap
      return
    }
    case 'bursts':
      for (let at = traffic.everyMs / 2; at < spanMs; at += traffic.everyMs) yield* repeat(at, traffic.size)
      return
    case 'boundary':
      yield* spread(windowMs - traffic.leadMs, traffic.leadMs, traffic.size)
      yield* spread(windowMs, traffic.leadMs, traffic.size)
      return
    case 'ramp': {
      // At a rate that grows evenly, the i-th request comes with the square root of i.
      const total = (traffic.perWindow * spanMs) / windowMs / 2
      for (let i = 0; i < total; i++) yield spanMs * Math.sqrt((i + 0.5) / total)
      return
    }
    case 'random': {
      const next = randomNumbers(traffic.seed)
      const gap = windowMs / traffic.perWindow
      for (let at = wait(next, gap); at < spanMs; at += wait(next, gap)) yield at
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

/** The wait for the next of independent requests: exponential, with the given mean. */
function wait(next: () => number, mean: number): number {
  return -Math.log(1 - next()) * mean
}

/** The same numbers for the same seed, in every browser: a link shows everybody the same traffic. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}
