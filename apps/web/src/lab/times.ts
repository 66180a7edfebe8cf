/** How many of ascending `times` are at or before `at`. */
export function countUpTo(times: readonly number[], at: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (times[middle]! <= at) low = middle + 1
    else high = middle
  }
  return low
}

/** How many of ascending `times` fall into each of `bins` equal parts of the axis. */
export function countPerBin(times: readonly number[], spanMs: number, bins: number): number[] {
  const counts = new Array<number>(bins).fill(0)
  for (const time of times) {
    const bin = Math.floor((time / spanMs) * bins)
    if (bin >= 0 && bin < bins) counts[bin]!++
  }
  return counts
}

/** The most of ascending `times` that lie within less than one window of each other, and the first of them. */
export function worstWindow(times: readonly number[], windowMs: number): { count: number; fromMs: number } {
  let worst = { count: 0, fromMs: 0 }
  let first = 0
  for (let last = 0; last < times.length; last++) {
    // A window is half open, so what is exactly one window old is out: as in the log. Half a microsecond
    // is less than any step between two times and more than a double's error.
    while (times[last]! - times[first]! > windowMs - 0.0005) first++
    const count = last - first + 1
    if (count > worst.count) worst = { count, fromMs: times[first]! }
  }
  return worst
}
