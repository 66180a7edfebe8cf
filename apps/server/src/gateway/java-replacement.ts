import { quoted } from '../config/mistakes.js'
import type { LinearRegExp } from '../linear-regexp.js'
import { unfit } from './argument.js'

/**
 * Compiles a replacement of Java's `replaceAll`: `$1` and `${name}` are groups, a backslash escapes the next character.
 * Spring files write `$\{name}`, because `${name}` is a variable there, as it is in ours.
 */
export function javaReplacement(
  given: string,
  { groupCount, groupNames }: LinearRegExp,
): (match: RegExpMatchArray) => string {
  const text = given.replaceAll('$\\', '$')
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
    const isKnown = name === undefined ? Number(digit) <= groupCount : groupNames.includes(name)
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
