/**
 * The words that somebody who wrote `word` most likely meant: the nearest, or several that are equally near, in
 * the order given. None if nothing is near.
 */
export function nearest(word: string, choices: readonly string[]): string[] {
  const wanted = alike(word)
  let best = Math.max(1, Math.floor(wanted.length / 3))
  let found: string[] = []
  // Nobody means a word of this length by a slip, and the table grows with it.
  if (wanted.length === 0 || wanted.length > 64) return found
  for (const choice of choices) {
    const score = distance(wanted, alike(choice))
    if (score > best) continue
    if (score < best) found = []
    best = score
    found.push(choice)
  }
  return found
}

/** `did you mean "limit"?`, or undefined if nothing is near. */
export function didYouMean(word: string, choices: readonly string[]): string | undefined {
  const words = nearest(word, choices)
  return words.length === 0 ? undefined : `did you mean ${words.map((near) => `"${near}"`).join(' or ')}?`
}

/** TOKEN_BUCKET, tokenBucket and token-bucket are one word to whoever writes them. */
function alike(word: string): string {
  return word
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replace(/[_\s]/g, '-')
    .toLowerCase()
}

/**
 * The fewest slips that turn one word into the other: a letter too many, too few, another, or two swapped. To
 * have stopped early counts as one slip, however much is missing, and so does to have gone on.
 */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  let tooLong = Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let slips = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        slips = Math.min(slips, beforeLast[j - 2]! + 1)
      }
      row.push(slips)
    }
    beforeLast = last
    last = row
    tooLong = Math.min(tooLong, row[b.length]! + 1)
  }
  const whole = last[b.length]!
  return Math.min(a.length, b.length) < 3 ? whole : Math.min(whole, tooLong, Math.min(...last) + 1)
}
