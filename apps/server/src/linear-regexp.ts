import { RE2JS } from 're2js'

/*
 * Regular expressions of the configuration. They run on RE2, whose time is linear in the text, because clients choose the text.
 * The syntax is the part of Java's that RE2 supports.
 */

export interface LinearRegExp {
  readonly source: string
  readonly groupCount: number
  readonly groupNames: readonly string[]
  /** Whether the whole text matches. */
  test(text: string): boolean
  /** The named groups of a match of the whole text. */
  match(text: string): Readonly<Record<string, string | undefined>> | undefined
  /** All matches within the text, one after the other. */
  matchAll(text: string): Iterable<RegExpMatchArray>
}

export function compileRegExp(source: string): LinearRegExp | { readonly problem: string } {
  const translated = translate(source)
  if (typeof translated !== 'string') return translated
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(translated)
  } catch (error) {
    return { problem: problemOf(String((error as Error).message)) }
  }
  const groupNames = Object.keys(compiled.namedGroups())
  return {
    source,
    groupCount: compiled.groupCount(),
    groupNames,
    test: (text) => compiled.testExact(text),
    match(text) {
      const matcher = compiled.matcher(text)
      if (!matcher.matches()) return undefined
      return Object.fromEntries(groupNames.map((name) => [name, matcher.group(name) ?? undefined]))
    },
    matchAll: (text) => compiled.matchAll(text),
  }
}

const TOKEN =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pP]\{\w+\}|\\u(?:[\dA-Fa-f]{4}|\{[\dA-Fa-f]+\})|\\[\s\S]|\[\^?\]?|&&|[\s\S]/g

/** Java's names of ASCII classes, such as `\p{Alpha}`. */
const ASCII_CLASS =
  /^\\([pP])\{(Lower|Upper|ASCII|Alpha|Digit|Alnum|Punct|Graph|Print|Blank|Cntrl|XDigit|Space)\}$/

/** Translates Java syntax that RE2 spells differently, and rejects syntax that has another meaning in RE2. */
function translate(source: string): string | { readonly problem: string } {
  let translated = ''
  let isInClass = false
  for (const [token] of source.matchAll(TOKEN)) {
    const ascii = ASCII_CLASS.exec(token)
    if (ascii !== null) {
      const name = `[:${ascii[1] === 'P' ? '^' : ''}${ascii[2]!.toLowerCase()}:]`
      translated += isInClass ? name : `[${name}]`
    } else if (/^\\u./.test(token)) translated += `\\x{${token.replace(/[\\u{}]/g, '')}}`
    else if (isInClass && (token === '&&' || token.startsWith('['))) {
      return {
        problem: 'a class within a class, and &&, are not supported; write one class such as [a-z0-9_]',
      }
    } else {
      if (token.startsWith('[')) isInClass = true
      else if (token === ']') isInClass = false
      translated += token
    }
  }
  return translated
}

const NOT_LINEAR = 'is not supported, because it cannot be matched in linear time'

const PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/`\(\?<?[=!]/, `lookahead or lookbehind, (?= or (?<=, ${NOT_LINEAR}`],
  [/`\(\?>/, `an atomic group, (?>, ${NOT_LINEAR}`],
  [/`\\[1-9k]/, `a reference to a group, such as \\1, ${NOT_LINEAR}`],
  [/nested repetition/, 'a repetition cannot be repeated; write a+ for a++ and (?:a{2}){3} for a{2}{3}'],
  [/repeat count/, 'repetitions may count to 1,000 in all; write for example [a-z]{1,200} or [a-z]+'],
]

function problemOf(message: string): string {
  const entry = PROBLEMS.find(([pattern]) => pattern.test(message))
  return entry?.[1] ?? message.replace(/^error parsing regexp: /, '')
}
