/** The start and the end of an admitted check. It was admitted at some time between them. */
export interface Admission {
  readonly start: number
  readonly end: number
}

/** The maximum number of admissions that are entirely within one interval of this length. */
export function fullestInterval(admissions: readonly Admission[], length: number): number {
  const byEnd = admissions.toSorted((a, b) => a.end - b.end)
  const starts = admissions.map(({ start }) => start).toSorted((a, b) => a - b)
  let most = 0
  // Some fullest interval begins with the start of an admission.
  for (const from of new Set(starts)) {
    let inside = 0
    for (const { start, end } of byEnd) {
      if (end >= from + length) break
      if (start >= from) inside++
    }
    most = Math.max(most, inside)
  }
  return most
}
