/** What to do about it. */
export const REPEATED_CHOICE =
  'a group that is repeated more than a few times must not have +, *, ?, {1,2} or | in it, or one text can take for ever to match; write for example [a-z0-9_.-]{1,40} for ([a-z0-9]+[_.-]?)+'

/** An escape, a class, the start or end of a group, an "or", how often something comes, or a character. */
const PIECES =
  /\\(?:[pPu]\{[^}]*\}|k<[^>]*>|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[a-z-]*:|<?[=!]|<[^>]*>))?|\)|\||(?:[*+?]|\{\d+(?:,\d*)?\})\??|./gsu

/**
 * Whether a group that may come several times can match in several ways each time: by a piece that may come more or
 * less often, or by an "or". The ways multiply with every time, and with those of other such groups, and a text that
 * almost matches is tried in all of them: one request could keep the process busy for ever. What is in no group that is
 * repeated is not looked at: `\w*:\w*` has many ways too, but not that many.
 */
export function repeatsChoice(source: string): boolean {
  /** Of each group that is open, in how many ways it can match; the first is the whole. */
  const open: Ways[] = [{ others: 0, before: 1, last: 1 }]
  /** In how many ways all groups that are repeated can match. */
  let all = 1
  let endsGroup = false
  for (const [piece] of source.matchAll(PIECES)) {
    const group = open.at(-1)!
    const times = timesOf(piece)
    if (times !== undefined) {
      const { least, most } = times
      if (endsGroup && most > 1 && group.last > 1) all *= group.last ** most
      if (all > MOST_WAYS) return true
      group.last = most === Number.POSITIVE_INFINITY ? most : group.last ** most * (most - least + 1)
    } else if (piece === '|') {
      group.others += group.before * group.last
      group.before = 1
      group.last = 1
    } else if (piece !== ')') {
      group.before *= group.last
      group.last = 1
      if (piece.startsWith('(')) open.push({ others: 0, before: 1, last: 1 })
    } else {
      const { others, before, last } = open.pop()!
      open.at(-1)!.last = others + before * last
    }
    endsGroup = piece === ')'
  }
  return false
}

/** Of a group: all alternatives but the last, and of that one what comes before its last piece, and this piece. */
interface Ways {
  others: number
  before: number
  last: number
}

/** An IPv6 address in groups of one to four digits can match in fewer. */
const MOST_WAYS = 100_000

/** How often what stands before it may come; undefined for what says nothing about that. */
function timesOf(piece: string): { least: number; most: number } | undefined {
  const [, sign, from, comma, to] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??$/.exec(piece) ?? []
  if (sign !== undefined)
    return { least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Number.POSITIVE_INFINITY }
  if (from === undefined) return undefined
  return { least: Number(from), most: Number(to || (comma ? Number.POSITIVE_INFINITY : from)) }
}
