/** Milliseconds since 1970 with fractions. It never steps back. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now()
}
