/** The value at `part` of the sorted values: 0.5 is the median. */
export function percentile(values: Float64Array, part: number): number {
  const value = values.toSorted()[Math.floor(values.length * part)]
  if (value === undefined) throw new Error('An empty list has no percentile.')
  return value
}
