export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('There is no median of nothing.')
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
