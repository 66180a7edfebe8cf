import { canonicalPath, laxPath } from '@tidegate/http'
import { quoted } from '../config/mistakes.js'
import { unfit } from './argument.js'
import { javaRegExp } from './java-regexp.js'

/*
 * Spring's patterns of paths: `/red/{segment}`, `/red/{id:\d+}`, `/red/{*rest}`, `/red/*`, `/red/**`, `/red/a?c*`.
 * They are matched on the canonical path, and on what a laxer server than ours makes of it, so that `/login;v=1` is
 * `/login`, as it is in Spring. Unlike in rules, upper and lower case are different, again as in Spring.
 */

export interface PathPattern {
  /** What `{names}` of the pattern there are. */
  readonly names: readonly string[]
  matches(path: string): boolean
  /** What stands for each name; undefined if the path does not match. Values are escaped as in the path. */
  variablesOf(path: string): Variables | undefined
}

export type Variables = Readonly<Record<string, string>>

export function parsePathPattern(text: string): PathPattern {
  if (!text.startsWith('/')) throw wrong(text, 'a pattern begins with a slash; write for example /api/**')
  const names: string[] = []
  const segments = text.slice(1).split(/\/(?![^{]*\})/)
  // A slash at the end means nothing, as in paths.
  if (segments.at(-1) === '') segments.pop()
  const open = segments.filter((segment) => segment === '**' || segment.startsWith('{*'))
  if (open.length > 1) throw wrong(text, 'only one ** or {*name} can be in a pattern')
  const sources = segments.map((segment) => {
    if (segment === '**') return '(?:/.*)?'
    const rest = /^\{\*([A-Za-z_][\w-]*)\}$/.exec(segment)
    if (rest !== null) return `(?<v${names.push(rest[1]!) - 1}>(?:/.*)?)`
    return `/${sourceOf(segment, names, text)}`
  })
  const source = `^${sources.join('') || '/'}$`
  const compiled = expressionOf(source, text)
  if (new Set(names).size < names.length) throw wrong(text, 'has one name twice; give each its own')

  /** What is captured by an expression of somebody's own may not go beyond its segment. */
  const openIndex = names.findIndex((_, i) => source.includes(`(?<v${i}>(?:/.*)?)`))
  const matchOf = (path: string): Record<string, string | undefined> | undefined => {
    const match = compiled.exec(path)
    if (match === null) return undefined
    const groups = match.groups ?? {}
    const isInside = names.every((_, i) => i === openIndex || !groups[`v${i}`]?.includes('/'))
    return isInside ? groups : undefined
  }
  const test =
    names.length === 0 ? (path: string) => compiled.test(path) : (path: string) => matchOf(path) !== undefined

  return {
    names,
    matches(path) {
      if (test(path)) return true
      const lax = laxPath(path)
      return lax !== path && test(lax)
    },
    variablesOf(path) {
      const groups = matchOf(path) ?? matchOf(laxPath(path))
      if (groups === undefined) return undefined
      return Object.fromEntries(names.map((name, i) => [name, groups[`v${i}`] ?? '']))
    },
  }
}

/** What one segment is made of: names, wildcards, and text that stands for itself. */
const PIECE = /\{([A-Za-z_][\w-]*)(?::((?:[^{}\\]|\\.|\{[^{}]*\})+))?\}|([*?])|([^{}*?]+)/gy

function sourceOf(segment: string, names: string[], pattern: string): string {
  if (segment === '*') return '[^/]+'
  let source = ''
  let at = 0
  PIECE.lastIndex = 0
  for (let match = PIECE.exec(segment); match !== null; match = PIECE.exec(segment)) {
    const [all, name, expression, wildcard, plain] = match
    at += all.length
    if (name !== undefined) source += `(?<v${names.push(name) - 1}>${expression ?? '[^/]+'})`
    else if (wildcard !== undefined) source += wildcard === '*' ? '[^/]*' : '[^/]'
    else source += literalOf(plain!, pattern)
  }
  if (at < segment.length || segment === '') {
    throw wrong(pattern, `${quoted(segment)} is no segment; write a name, *, {name}, {name:expression} or **`)
  }
  return source
}

function literalOf(plain: string, pattern: string): string {
  let canonical: string | undefined
  try {
    canonical = canonicalPath(`/x${plain.replace(/[^!-~]+/g, encodeURIComponent)}`)?.path
  } catch {
    // A lone surrogate.
  }
  if (canonical === undefined || plain.includes(';'))
    throw wrong(pattern, `${quoted(plain)} cannot be in a path`)
  return laxPath(canonical)
    .slice(2)
    .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function expressionOf(source: string, pattern: string): RegExp {
  const made = javaRegExp(source)
  if (made instanceof RegExp) return made
  throw wrong(pattern, made.problem)
}

function wrong(pattern: string, problem: string): Error {
  return unfit(`${quoted(pattern)} is no pattern of paths: ${problem}`)
}
