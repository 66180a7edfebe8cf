import { quoted } from '../config/mistakes.js'
import { unfit } from './argument.js'

/**
 * What `replaceAll` of Java puts in for a match: `$1` and `${name}` are groups, a backslash takes the next sign as it is.
 * Spring also writes `$\{name}`, because in its files `${name}` is a variable, as it is in ours.
 */
export function javaReplacement(given: string, expression: RegExp): (match: RegExpMatchArray) => string {
  const text = given.replaceAll('$\\', '$')
  const groups = groupsOf(expression)
  const pieces: (string | { readonly group: string | number })[] = []
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '\\') {
      pieces.push(text[++at] ?? '')
      continue
    }
    if (sign !== '$') {
      pieces.push(sign)
      continue
    }
    const reference = /^\$(?:\{([A-Za-z]\w*)\}|(\d))/.exec(text.slice(at))
    if (reference === null) {
      throw unfit(`${quoted(given)}: a $ stands before a group, as in $1 or $\\{name}; write \\$ for itself`)
    }
    const [all, name, digit] = reference
    const isKnown = name === undefined ? Number(digit) <= groups.count : groups.names.includes(name)
    if (!isKnown) throw unfit(`${quoted(given)}: the expression has no group ${quoted(name ?? digit!)}`)
    pieces.push({ group: name ?? Number(digit) })
    at += all.length - 1
  }
  return (match) =>
    pieces
      .map((piece) => {
        if (typeof piece === 'string') return piece
        const { group } = piece
        return (typeof group === 'number' ? match[group] : match.groups?.[group]) ?? ''
      })
      .join('')
}

/** With an empty alternative every expression matches, and says which groups it has. */
function groupsOf({ source, flags }: RegExp): { count: number; names: string[] } {
  const match = new RegExp(`(?:${source})|`, flags).exec('')!
  return { count: match.length - 1, names: Object.keys(match.groups ?? {}) }
}
