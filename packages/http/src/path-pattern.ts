import { show } from '@tidegate/core'
import { canonicalPath } from './path.js'

/*
 * Patterns are matched on the canonical path, without regard to upper and lower case: many servers route
 * `/Login` and `/login` to the same place, and a rule that one letter gets around is no rule.
 */

/**
 * One expression for all patterns, each of them made of segments: a name, `*` or `{name}` for any one
 * segment, and at the end `**` for everything below.
 */
export function parsePathPatterns(patterns: readonly unknown[], invalid: (problem: string) => Error): RegExp {
  const sources = patterns.map((pattern) => {
    if (typeof pattern !== 'string' || pattern[0] !== '/') {
      throw invalid(
        `has ${show(pattern)}; a pattern begins with a slash. Write for example '/login' or '/api/**'.`,
      )
    }
    const segments = pattern.slice(1).split('/')
    // '/' has no segment; a slash at the end means nothing, as in paths.
    if (segments.at(-1) === '') segments.pop()
    const source = segments.map((segment, i) => {
      if (segment === '**' && i === segments.length - 1) return '(?:/.*)?'
      if (segment === '*' || /^\{\w+\}$/.test(segment)) return '/[^/]+'
      const name = literalOf(segment)
      if (name === undefined) throw invalid(`has ${show(pattern)}: ${problemOf(segment)}`)
      return `/${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`
    })
    return source.join('') || '/'
  })
  return new RegExp(`^(?:${sources.join('|')})$`, 'i')
}

/**
 * A path as laxer servers than ours read it: without the parameters of its segments (`/login;v=1`), and with
 * every character decoded that may also stand for itself. A rule is about what such a server would do, too.
 */
export function laxPath(path: string): string {
  if (!/[;%]/.test(path)) return path
  const bare = path.replace(/;[^/]*/g, '').replace(/\/{2,}/g, '/')
  const lax = decodePlain(bare)
  return lax.length > 1 && lax.endsWith('/') ? lax.slice(0, -1) : lax || '/'
}

/** A segment that stands for itself, as it is in a lax path. */
function literalOf(segment: string): string | undefined {
  if (/[*{}?]/.test(segment)) return undefined
  try {
    const escaped = segment.replace(/[^!-~]+/g, encodeURIComponent)
    const path = canonicalPath(`/${escaped}`)?.path
    return path === undefined || path === '/' ? undefined : decodePlain(path.slice(1))
  } catch {
    // A lone surrogate.
    return undefined
  }
}

function problemOf(segment: string): string {
  if (segment === '**') return "'**' stands for the rest and must come last."
  if (segment.includes('?')) return 'the query is never matched; leave it out.'
  return `the segment ${show(segment)} is no name. Write a name, '*', '{name}', or '**' at the end; %2A is a '*' that is meant.`
}

function decodePlain(path: string): string {
  return path.replace(/%(?:2[1467-9A-C]|3[ABD]|40)/g, (triplet) =>
    String.fromCharCode(Number.parseInt(triplet.slice(1), 16)),
  )
}
