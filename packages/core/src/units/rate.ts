import { MAX_DURATION_MS, parseDuration } from './duration.js'

/** A rate: units per second such as `10` or `0.5`, or units per duration such as `'100/1m'`. */
export type Rate = number | `${number}/${string}` | (string & {})

const US_PER_SECOND = 1_000_000n
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)
/** The largest number of units in a rate: 15 digits. */
const MAX_UNITS = 10n ** 15n - 1n

/** The exact fraction of a rate, n units per d microseconds; undefined if the input is not a rate. */
export function parseRate(input: unknown): { n: bigint; d: bigint } | undefined {
  if (typeof input === 'number') return perMicros(input, US_PER_SECOND)
  if (typeof input !== 'string') return undefined
  const match = /^(\d{1,15}(?:\.\d{1,15})?)\/(\d.{0,24})$/.exec(input)
  if (!match) return undefined
  const perMs = parseDuration(match[2])
  if (perMs === undefined || !Number.isInteger(perMs) || perMs < 1 || perMs > MAX_DURATION_MS)
    return undefined
  return perMicros(Number(match[1]), BigInt(perMs) * 1000n)
}

function perMicros(units: number, micros: bigint): { n: bigint; d: bigint } | undefined {
  if (!(units > 0 && units <= Number.MAX_SAFE_INTEGER)) return undefined
  const [p, q] = simplestFraction(units)
  return reduce(p, q * micros)
}

/** Whether a bucket of this capacity can be counted exactly at this rate: every product stays below 2^53. */
export function fits(capacity: number, rate: { n: bigint; d: bigint }): boolean {
  return rate.n <= MAX_SAFE && BigInt(capacity) * rate.d <= MAX_SAFE
}

/** The nearest rate that fits this capacity, in the notation of a policy. */
export function nearestFittingRate(capacity: number, { n, d }: { n: bigint; d: bigint }): Rate {
  const longest = BigInt(MAX_DURATION_MS)
  // Both d and n must fit, and n is about n/d times as large as d.
  const largest = smaller(MAX_SAFE / BigInt(capacity), MAX_SAFE / (n / d + 1n))
  // Two candidates: 1,000 times the units per q milliseconds, if q is not too long a duration, or units per a whole
  // number of milliseconds. In both, the units must have at most 15 digits.
  const writable = MAX_UNITS / (1000n * (n / d + 1n))
  const [p, q] = nearestFraction(n, d, smaller(smaller(largest, longest), writable))
  const [units, ms] = nearestFraction(n * 1000n, d, smaller(smaller(largest / 1000n, longest), writable))
  const fine = reduce(p * 1000n, q)
  const isFineNearer = distance([p, q], n, d) <= distance([units, ms * 1000n], n, d)
  return isFineNearer ? `${Number(fine.n)}/${fine.d}ms` : `${Number(units)}/${ms}ms`
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/**
 * The fraction with the smallest denominator whose nearest double is `x`: 0.1 is 1/10, 100/60 is 5/3. That is the intended
 * rate; the exact value of the double (3602879701896397/2^55 for 0.1) is not.
 */
function simplestFraction(x: number): [bigint, bigint] {
  if (Number.isInteger(x)) return [BigInt(x), 1n]
  // Scale x to an integer over a power of two. The rounding interval ends halfway to the neighbouring doubles.
  let scale = 2n
  let scaled = x
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    scale *= 2n
  }
  while (scaled < 2 ** 52) {
    scaled *= 2
    scale *= 2n
  }
  const twice = BigInt(scaled) * 2n
  return simplestBetween(twice - 1n, scale, twice + 1n, scale)
}

/** The simplest fraction strictly between a/b and c/d, by their common continued fraction. */
function simplestBetween(a: bigint, b: bigint, c: bigint, d: bigint): [bigint, bigint] {
  const whole = a / b
  if ((whole + 1n) * d < c) return [whole + 1n, 1n]
  // Both are in [whole, whole + 1]: continue with the reciprocals of their remainders.
  const [p, q] = simplestBetween(d, c - whole * d, b, a - whole * b)
  return [whole * p + q, p]
}

/** The fraction nearest to n/d with a denominator of at most `maxD`; never 0. */
function nearestFraction(n: bigint, d: bigint, maxD: bigint): [bigint, bigint] {
  let [p0, q0, p1, q1] = [0n, 1n, 1n, 0n]
  let [a, b] = [n, d]
  while (b > 0n) {
    const quotient = a / b
    if (q0 + quotient * q1 > maxD) {
      const k = (maxD - q0) / q1
      const semi: [bigint, bigint] = [p0 + k * p1, q0 + k * q1]
      const best = distance(semi, n, d) < distance([p1, q1], n, d) ? semi : ([p1, q1] as [bigint, bigint])
      return best[0] > 0n ? best : [1n, maxD]
    }
    ;[p0, q0, p1, q1] = [p1, q1, p0 + quotient * p1, q0 + quotient * q1]
    ;[a, b] = [b, a - quotient * b]
  }
  return [p1, q1]
}

/** |p/q − n/d| times d, which is enough to compare two candidates. */
function distance([p, q]: [bigint, bigint], n: bigint, d: bigint): number {
  const difference = p * d - n * q
  return Number(difference < 0n ? -difference : difference) / Number(q)
}

function reduce(n: bigint, d: bigint): { n: bigint; d: bigint } {
  let [a, b] = [n, d]
  while (b > 0n) [a, b] = [b, a % b]
  return { n: n / a, d: d / a }
}
