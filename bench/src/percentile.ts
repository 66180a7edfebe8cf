/** The value that so much of all, 0 to 1, is below. */
export function percentile(values: Float64Array, part: number): number {
  const value = values.toSorted()[Math.floor(values.length * part)]
  if (value === undefined) throw new Error('There is no percentile of nothing.')
  return value
}
