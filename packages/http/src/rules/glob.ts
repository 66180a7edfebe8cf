/** Stands for any one character in a piece of a glob; a path never contains it. */
export const ANY_CHARACTER = '\0'

/**
 * Matches text against the pieces between the stars of a glob. The first piece must be at the start, the last at the end,
 * and each piece between matches at its first occurrence. There is no backtracking, so the time is linear.
 */
export function globMatcher(pieces: readonly string[]): (text: string) => boolean {
  const first = pieces[0]!
  if (pieces.length === 1) return (text) => text.length === first.length && isAt(text, 0, first)
  const last = pieces.at(-1)!
  const between = pieces.slice(1, -1).filter((piece) => piece !== '')
  return (text) => {
    const end = text.length - last.length
    let at = first.length
    if (at > end || !isAt(text, 0, first) || !isAt(text, end, last)) return false
    for (const piece of between) {
      const found = find(text, piece, at, end - piece.length)
      if (found < 0) return false
      at = found + piece.length
    }
    return true
  }
}

function find(text: string, piece: string, from: number, to: number): number {
  if (!piece.includes(ANY_CHARACTER)) {
    const found = text.indexOf(piece, from)
    return found > to ? -1 : found
  }
  for (let at = from; at <= to; at++) if (isAt(text, at, piece)) return at
  return -1
}

function isAt(text: string, at: number, piece: string): boolean {
  if (!piece.includes(ANY_CHARACTER)) return text.startsWith(piece, at)
  for (let i = 0; i < piece.length; i++) {
    if (piece[i] !== ANY_CHARACTER && piece[i] !== text[at + i]) return false
  }
  return true
}
