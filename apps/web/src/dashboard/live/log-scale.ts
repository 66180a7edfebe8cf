/** Room above a value at the top of the scale, so that its line is not cut. */
const HEADROOM = 1.2

/** The ends of a logarithmic scale: a power of ten below the values, and some room above them. */
export function logRange(min: number | null, max: number | null): [number, number] {
  const low = Math.floor(Math.log10(min || 0.01))
  const high = Math.max(Math.ceil(Math.log10(max || 1)), low + 1)
  return [10 ** low, 10 ** high * HEADROOM]
}

export function powersOfTen(min: number, max: number): number[] {
  const [low, high] = [Math.round(Math.log10(min)), Math.floor(Math.log10(max))]
  return Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i))
}
