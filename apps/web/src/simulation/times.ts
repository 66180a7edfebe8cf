/** The number of ascending `times` at or before `at`. */
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

/**
 * The running maximum: entry i is the largest number of requests in any one window, counting only the first i + 1
 * of ascending `times`.
 */
export function worstWindowSoFar(times: readonly number[], windowMs: number): number[] {
  let worst = 0
  let first = 0
  return times.map((time, last) => {
    // A window is half open, as in the log: a request exactly one window old is outside. Half a microsecond is
    // less than any gap between two times and more than the rounding error of a double.
    while (time - times[first]! > windowMs - 0.0005) first++
    worst = Math.max(worst, last - first + 1)
    return worst
  })
}

/** The largest number of ascending `times` in any one window. */
export function worstWindow(times: readonly number[], windowMs: number): number {
  return worstWindowSoFar(times, windowMs).at(-1) ?? 0
}
