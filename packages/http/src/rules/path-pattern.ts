import { show } from '@tidegate/core'
import { canonicalPath } from '../path/path.js'
import { decodeUnreserved, type PathText } from '../path/path-readings.js'
import { ANY_CHARACTER, globMatcher } from './glob.js'

/*
 * Patterns of paths: `/login`, `/users/{id}`, `/files/*`, `/files/*.txt`, `/api/**`. They are matched segment by
 * segment, without backtracking.
 */

/** A compiled path pattern. */
export interface PathPattern {
  /** The names of variables in the pattern, such as `id` in `/users/{id}`. */
  readonly names: readonly string[]
  /** Whether the pattern matches a path. */
  matches(path: PathText): boolean
  /** Returns the values of the variables, escaped as in the path; undefined if the path does not match. */
  variablesOf(path: PathText): Variables | undefined
}

/** The values of the variables of a path pattern, by name. */
export type Variables = Readonly<Record<string, string>>

export interface PatternOptions {
  readonly ignoreCase: boolean
  /** Creates the error for an invalid pattern. */
  readonly invalid: (problem: string) => Error
  /**
   * Compiles a segment that needs a regular expression, such as `{name}-{version:\d+}`, which must match in linear time.
   * Default: such segments, and `?` for a single character, are invalid.
   */
  readonly expression?: (source: string) => SegmentExpression
}

interface SegmentExpression {
  /** The named groups of a match of the whole segment. */
  match(segment: string): Readonly<Record<string, string | undefined>> | undefined
}

interface Segment {
  readonly names: readonly string[]
  matches(segment: string): boolean
  /** The values of `names`. */
  values(segment: string): readonly string[]
}

type Part = Segment | { readonly names: readonly string[]; readonly isRest: true }

/** Compiles a path pattern such as `/users/{id}`, `/files/*.txt` or `/api/**`. */
export function compilePathPattern(text: unknown, options: PatternOptions): PathPattern {
  const { invalid, ignoreCase } = options
  if (typeof text !== 'string' || text[0] !== '/') {
    throw invalid(`${show(text)} must begin with a slash. Write for example '/login' or '/api/**'.`)
  }
  const sources = text.slice(1).split(/\/(?![^{]*\})/)
  // A trailing slash is ignored, as in paths.
  if (sources.at(-1) === '') sources.pop()
  const parts = sources.map((source) => partOf(source, text, options))
  const names = parts.flatMap((part) => part.names)
  if (new Set(names).size < names.length)
    throw invalid(`${show(text)} has a variable name twice. Rename one of them.`)
  const restAt = parts.findIndex((part) => 'isRest' in part)
  if (restAt !== parts.findLastIndex((part) => 'isRest' in part)) {
    throw invalid(`${show(text)} has '**' more than once. Write it once.`)
  }
  const hasRest = restAt >= 0
  const head = (hasRest ? parts.slice(0, restAt) : parts) as Segment[]
  const tail = (hasRest ? parts.slice(restAt + 1) : []) as Segment[]

  const matches = (path: PathText): boolean => {
    const segments = ignoreCase ? path.lowerCaseSegments : path.segments
    const spare = segments.length - head.length - tail.length
    if (hasRest ? spare < 0 : spare !== 0) return false
    const tailAt = segments.length - tail.length
    return (
      head.every((part, i) => part.matches(segments[i]!)) &&
      tail.every((part, i) => part.matches(segments[tailAt + i]!))
    )
  }

  return {
    names,
    matches,
    variablesOf(path) {
      if (!matches(path)) return undefined
      const { segments } = path
      const tailAt = segments.length - tail.length
      const rest = segments.slice(head.length, tailAt).map((segment) => `/${segment}`)
      const values = [
        ...head.flatMap((part, i) => part.values(segments[i]!)),
        ...(hasRest && parts[restAt]!.names.length > 0 ? [rest.join('')] : []),
        ...tail.flatMap((part, i) => part.values(segments[tailAt + i]!)),
      ]
      return Object.fromEntries(names.map((name, i) => [name, values[i]!]))
    },
  }
}

const NAME = '[A-Za-z_][\\w-]*'
const REST = new RegExp(`^\\{\\*(${NAME})\\}$`)
const ANY = new RegExp(`^(?:\\*|\\{(${NAME})\\})$`)
/** A name with or without an expression, a wildcard, or literal text. */
const PIECE = new RegExp(`\\{(${NAME})(?::((?:[^{}\\\\]|\\\\.|\\{[^{}]*\\})+))?\\}|([*?])|([^{}*?]+)`, 'gy')

function partOf(source: string, pattern: string, options: PatternOptions): Part {
  const rest = source === '**' ? [] : REST.exec(source)?.slice(1)
  if (rest !== undefined) return { names: rest, isRest: true }
  const any = ANY.exec(source)
  if (any !== null) return anySegment(any[1])
  const pieces = piecesOf(source, pattern, options)
  if (pieces.some(({ name }) => name !== undefined)) return expressionSegment(pieces, pattern, options)
  return globSegment(pieces, options)
}

interface Piece {
  readonly name?: string | undefined
  readonly expression?: string | undefined
  readonly wildcard?: string | undefined
  readonly literal?: string
}

function piecesOf(source: string, pattern: string, { invalid, expression }: PatternOptions): Piece[] {
  if (expression === undefined && source.includes('?')) {
    throw invalid(
      `${show(pattern)} must not have a '?', because patterns match the path only. Remove the query.`,
    )
  }
  const pieces: Piece[] = []
  let end = 0
  for (const [all, name, expression, wildcard, text] of source.matchAll(PIECE)) {
    end += all.length
    if (text === undefined) pieces.push({ name, expression, wildcard })
    else pieces.push({ literal: literalOf(text) ?? fail() })
  }
  if (end < source.length || source === '' || /^\.\.?$/.test(pieces[0]?.literal ?? '')) fail()
  return pieces

  function fail(): never {
    const kinds = `a name, '*', '{name}'${expression === undefined ? '' : ", '{name:expression}'"} or '**'`
    throw invalid(
      `${show(pattern)}: ${show(source)} is not a valid segment. Write ${kinds}; write %2A for a literal '*'.`,
    )
  }
}

/** Text in the spelling of a lenient path; undefined if it cannot be part of a path. */
function literalOf(text: string): string | undefined {
  try {
    const escaped = text.replace(/[^!-~]+/g, encodeURIComponent)
    const path = canonicalPath(`/x${escaped}`)?.path
    return path === undefined || path.length < 3 ? undefined : decodeUnreserved(path.slice(2))
  } catch {
    // encodeURIComponent throws on a lone surrogate.
    return undefined
  }
}

function anySegment(name: string | undefined): Segment {
  return {
    names: name === undefined ? [] : [name],
    matches: () => true,
    values: (segment) => (name === undefined ? [] : [segment]),
  }
}

function globSegment(pieces: readonly Piece[], { ignoreCase }: PatternOptions): Segment {
  const text = [['']]
  for (const { literal, wildcard } of pieces) {
    if (wildcard === '*') text.push([''])
    else text.at(-1)!.push(literal ?? ANY_CHARACTER)
  }
  const matches = globMatcher(
    text.map((piece) => (ignoreCase ? piece.join('').toLowerCase() : piece.join(''))),
  )
  return { names: [], matches, values: () => [] }
}

function expressionSegment(pieces: readonly Piece[], pattern: string, options: PatternOptions): Segment {
  const { expression: compile, invalid } = options
  if (compile === undefined) {
    throw invalid(
      `${show(pattern)} must not combine a variable with other text in a segment. Write '{name}' or '*' for the whole segment.`,
    )
  }
  const names: string[] = []
  const source = pieces.map(({ name, expression, wildcard, literal }) => {
    if (name !== undefined) return `(?<v${names.push(name) - 1}>${expression ?? '.+'})`
    if (wildcard !== undefined) return wildcard === '*' ? '.*' : '.'
    return literal!.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  })
  // Compile each expression alone first, so that brackets of one cannot pair with those of another.
  for (const { expression } of pieces) if (expression !== undefined) compile(expression)
  const whole = compile(source.join(''))
  return {
    names,
    matches: (segment) => whole.match(segment) !== undefined,
    values(segment) {
      const groups = whole.match(segment) ?? {}
      return names.map((_, i) => groups[`v${i}`] ?? '')
    },
  }
}
