import type { ConfigDocument } from './document.js'
import { optionOf } from './options.js'

/** The whole key must match: a pattern that may match anywhere lets through what it was written to keep out. */
export function readKeyPattern(document: ConfigDocument): RegExp | undefined {
  const source = optionOf(document).textIfAny('keyPattern')
  if (source === undefined) return undefined
  try {
    // By itself first: a stray bracket could otherwise pair with those put around it.
    new RegExp(source, 'u')
    if (repeatsRepetition(source)) {
      document.wrong(
        ['keyPattern'],
        'a group that is repeated must not have +, * or {1,} in it, or one key can take for ever to match; write for example [a-z0-9_.-]{1,40} for ([a-z0-9]+[_.-]?)+',
      )
      return undefined
    }
    return new RegExp(`^(?:${source})$`, 'u')
  } catch (error) {
    const why = String((error as Error).message)
      .split(': ')
      .at(-1)
    document.wrong(['keyPattern'], `is no regular expression: ${why?.toLowerCase()}`)
    return undefined
  }
}

/** An escape, a class, a bracket or how often something comes: in none of the first two is anything of the others. */
const PIECES = /\\.|\[(?:\\.|[^\]\\])*\]|[()*+]|\{\d+(?:,\d*)?\}|./gsu

/**
 * Whether a group that may come several times has something in it that may come any number of times. A key that almost
 * matches can be divided among the two in more ways than anybody can try.
 */
function repeatsRepetition(source: string): boolean {
  /** Of each group that is open, whether it has such a thing in it; the first is the whole. */
  const groups = [false]
  let ended = false
  for (const [piece] of source.matchAll(PIECES)) {
    const most = mostOf(piece)
    if (ended && most > 1) return true
    ended = false
    if (most === Number.POSITIVE_INFINITY) groups[groups.length - 1] = true
    else if (piece === '(') groups.push(false)
    else if (piece === ')') {
      ended = groups.pop() === true
      if (ended) groups[groups.length - 1] = true
    }
  }
  return false
}

/** How often what stands before it may come; 1 for what says nothing about that. */
function mostOf(piece: string): number {
  if (piece === '*' || piece === '+') return Number.POSITIVE_INFINITY
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(piece) ?? []
  if (least === undefined) return 1
  return Number(most || (comma ? Number.POSITIVE_INFINITY : least))
}
