/*
 * Exact arithmetic with whole numbers in doubles. While every value is below 2^53, sums are exact, and so is
 * floor(a ÷ b): the quotient never rounds up to the next whole number. Only products can exceed 2^53, so the two functions
 * of this file multiply and divide in one step. They take whole numbers a, b ≥ 0 and c ≥ 1 below 2^53, and need a result below
 * 2^53.
 */

/** floor(a × b ÷ c), exactly. */
export function mulDivFloor(a: number, b: number, c: number): number {
  const product = a * b
  return product <= Number.MAX_SAFE_INTEGER ? Math.floor(product / c) : longDivision(a, b, c, 0)
}

/** ceil(a × b ÷ c), exactly. */
export function mulDivCeil(a: number, b: number, c: number): number {
  const product = a * b
  return product <= Number.MAX_SAFE_INTEGER ? Math.ceil(product / c) : longDivision(a, b, c, 1)
}

/** Below this divisor, every intermediate value in base 64 is under 127 × c < 2^53. */
const BASE_64_BELOW = 2 ** 46

/** a × b ÷ c by long division over the digits of a, highest first. `up` is added if there is a remainder. */
function longDivision(a: number, b: number, c: number, up: 0 | 1): number {
  const whole = Math.floor(b / c)
  const part = b - whole * c
  const base = c < BASE_64_BELOW ? 64 : 2
  let place = 1
  while (place <= a / base) place *= base
  let quotient = 0
  let remainder = 0
  for (let rest = a; place >= 1; place /= base) {
    const digit = Math.floor(rest / place)
    rest -= digit * place
    if (base === 64) {
      const value = remainder * 64 + digit * part
      const times = Math.floor(value / c)
      quotient = quotient * 64 + times
      remainder = value - times * c
    } else {
      // 2 × remainder can pass 2^53: subtract the divisor before adding.
      quotient *= 2
      for (const summand of digit === 1 ? [remainder, part] : [remainder]) {
        const room = c - summand
        if (remainder >= room) {
          remainder -= room
          quotient += 1
        } else {
          remainder += summand
        }
      }
    }
  }
  return a * whole + quotient + (remainder > 0 ? up : 0)
}
