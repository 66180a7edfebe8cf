/**
 * The choices that are most similar to a misspelled word: the nearest, or several that are equally near, in
 * the order given. None if nothing is near.
 */
export function nearestWords(word: string, choices: readonly string[]): string[] {
  const wanted = normalizeName(word)
  let best = Math.max(1, Math.floor(wanted.length / 3))
  let found: string[] = []
  // Longer words are never typing errors, and would make the table large.
  if (wanted.length === 0 || wanted.length > 64) return found
  for (const choice of choices) {
    const score = distance(wanted, normalizeName(choice))
    if (score > best) continue
    if (score < best) found = []
    best = score
    found.push(choice)
  }
  return found
}

/** TOKEN_BUCKET, tokenBucket and token-bucket are the same word. */
function normalizeName(word: string): string {
  return word
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replace(/[_\s]/g, '-')
    .toLowerCase()
}

/**
 * The edit distance of two words: the number of letters that are added, missing, replaced or swapped. A missing or extra
 * end of any length counts as one edit.
 */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  let tooLong = Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let edits = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, beforeLast[j - 2]! + 1)
      }
      row.push(edits)
    }
    beforeLast = last
    last = row
    tooLong = Math.min(tooLong, row[b.length]! + 1)
  }
  const whole = last[b.length]!
  return Math.min(a.length, b.length) < 3 ? whole : Math.min(whole, tooLong, Math.min(...last) + 1)
}
