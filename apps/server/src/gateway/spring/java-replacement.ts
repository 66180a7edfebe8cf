import { quote } from '../../config-file/config-error.js'
import type { LinearRegExp } from '../../linear-regexp.js'
import { invalid } from './argument.js'

/**
 * Compiles a replacement of Java's `replaceAll`: `$1` and `${name}` are groups, a backslash escapes the next character.
 * Spring files write `$\{name}`, because `${name}` is a placeholder there; here it is a variable.
 */
export function javaReplacement(
  replacement: string,
  { groupCount, groupNames }: LinearRegExp,
): (match: RegExpMatchArray) => string {
  const text = replacement.replaceAll('$\\', '$')
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
      throw invalid(
        `${quote(replacement)} has a $ without a group; write $1, $\\{name}, or \\$ for a literal $`,
      )
    }
    const [all, name, digit] = reference
    const exists = name === undefined ? Number(digit) <= groupCount : groupNames.includes(name)
    if (!exists)
      throw invalid(
        `${quote(replacement)} refers to the group ${quote(name ?? digit!)}, which regexp does not have`,
      )
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
