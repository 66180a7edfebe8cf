import { show, TidegateError } from '@tidegate/core'
import type { RequestFacts } from '../request.js'
import { asKey } from './key.js'
import { sha256Hex } from './sha256.js'
import { AMBIGUOUS, type Source, sourceOf } from './sources.js'

/*
 * A template such as "user:{header.x-user-id | 'anonymous'}" computes the key of a request. It is parsed once.
 *
 * Different values never produce the same key. The value of a single source is not changed. With several sources, `%` and
 * the first character of each text between two sources are escaped in all values, so that the end of each value is
 * unambiguous. The value of a later alternative is prefixed with the name of its source and `=` (which is then escaped in
 * values too), so that the user `192.0.2.1` and the address 192.0.2.1 have different keys.
 */

/** A parsed key template. */
export interface Template {
  readonly text: string
  /** Whether the template hashes a value, which must then not appear in logs. */
  readonly isSecret: boolean
  /**
   * Returns the key, or undefined if the request lacks a part of it. Requests with several different values of a part share
   * one key, so that a client cannot evade its limit with a second value.
   */
  resolve(request: RequestFacts): string | undefined
  /** The name of a part for which the request has several different values, such as `query.api_key`. */
  ambiguousPart(request: RequestFacts): string | undefined
}

/**
 * Parses a key template: text, and expressions in braces. `{{` and `}}` stand for braces. Throws `TEMPLATE_INVALID`.
 *
 * @example
 * ```ts
 * const template = parseTemplate("user:{header.x-user-id | 'anonymous'}")
 * ```
 */
export function parseTemplate(text: string): Template {
  const parts = partsOf(text)
  if (parts.length === 1 && typeof parts[0] === 'string') {
    const only = readExpression(text.trim())
    if (!('problem' in only) && only.alternatives.length > 0) {
      throw invalid(text, 0, `this is the same key for every request; write ${show(`{${text.trim()}}`)}`)
    }
  }
  return compile(text, parts)
}

/** Parses an expression such as `"header.x-user-id | 'anonymous'"`, which a template has in braces. */
export function parseExpression(text: string): Template {
  assertText(text)
  return compile(text, [expressionAt(text, text, 0)])
}

interface Expression {
  readonly alternatives: readonly Alternative[]
  /** The value if the request has no alternative. */
  readonly literal: string | undefined
}

interface Alternative {
  readonly name: string
  readonly source: Source
  readonly isHashed: boolean
}

const SOURCES = "ip, method, path, route, header.<name>, query.<name>, cookie.<name> or 'text'"

function partsOf(text: string): (string | Expression)[] {
  assertText(text)
  const parts: (string | Expression)[] = []
  let literal = ''
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    const isBrace = character === '{' || character === '}'
    if (!isBrace || text[at + 1] === character) {
      literal += character
      if (isBrace) at++
      continue
    }
    if (character === '}')
      throw invalid(text, at, 'this brace has no opening brace; write }} for a literal brace')
    const end = closingBrace(text, at)
    if (end < 0) throw invalid(text, at, 'this brace is not closed; write {{ for a literal brace')
    if (parts.length > 0 && (literal === '' || literal[0] === '%' || literal[0] === '=')) {
      const advice = "write text between two sources that does not begin with % or =, for example ':'"
      throw invalid(text, at, advice)
    }
    if (literal !== '') parts.push(literal)
    parts.push(expressionAt(text, text.slice(at + 1, end), at + 1))
    literal = ''
    at = end
  }
  if (literal !== '') parts.push(literal)
  return parts
}

/** The index of the closing brace of an expression, outside of quotes; -1 if there is none. */
function closingBrace(text: string, opening: number): number {
  let isQuoted = false
  for (let at = opening + 1; at < text.length; at++) {
    if (text[at] === "'") isQuoted = !isQuoted
    else if (text[at] === '}' && !isQuoted) return at
  }
  return -1
}

function expressionAt(template: string, text: string, at: number): Expression {
  const expression = readExpression(text)
  if ('problem' in expression) throw invalid(template, at + expression.at, expression.problem)
  return expression
}

/** One alternative and its end: `|` or the end of the text. */
const ALTERNATIVE = /\s*(?:'((?:[^']|'')*)'|sha256\(\s*([^\s|(){}']+)\s*\)|([^\s|(){}']+))\s*(\||$)/y

function readExpression(text: string): Expression | { problem: string; at: number } {
  const alternatives: Alternative[] = []
  for (let at = 0; ; ) {
    ALTERNATIVE.lastIndex = at
    const match = ALTERNATIVE.exec(text)
    if (match === null) return { problem: `write ${SOURCES}, with | between alternatives`, at }
    const [all, literal, hashedName, unhashedName, next] = match
    if (literal !== undefined) {
      if (literal === '') return { problem: 'a string in quotes must not be empty', at }
      if (next === '|') return { problem: `nothing after '${literal}' is ever used; write it last`, at }
      return { alternatives, literal: literal.replaceAll("''", "'") }
    }
    const name = hashedName ?? unhashedName!
    const source = sourceOf(name)
    if (source === undefined) return { problem: `${show(name)} is not a source; write ${SOURCES}`, at }
    const isHashed = hashedName !== undefined
    alternatives.push({ name: isHashed ? `sha256(${name})` : name, source, isHashed })
    if (next === '') return { alternatives, literal: undefined }
    at += all.length
  }
}

function compile(text: string, parts: readonly (string | Expression)[]): Template {
  const expressions = parts.filter((part) => typeof part !== 'string')
  const write = writerOf(parts, expressions)
  const pieces = parts.map((part) => (typeof part === 'string' ? part : resolverOf(part, write)))
  return Object.freeze({
    text,
    isSecret: expressions.some(({ alternatives }) => alternatives.some(({ isHashed }) => isHashed)),
    resolve(request: RequestFacts) {
      let key = ''
      for (const piece of pieces) {
        const written = typeof piece === 'string' ? piece : piece(request)
        if (written === undefined) return undefined
        key += written
      }
      return asKey(key)
    },
    ambiguousPart(request: RequestFacts) {
      for (const { alternatives } of expressions) {
        const found = firstOf(alternatives, request)
        if (found?.value === AMBIGUOUS) return found.alternative.name
      }
      return undefined
    },
  })
}

/** Escapes values so that the template stays unambiguous; see the top of this file. */
function writerOf(
  parts: readonly (string | Expression)[],
  expressions: readonly Expression[],
): (value: string) => string {
  const hasAlternatives = expressions.some(
    ({ alternatives, literal }) => alternatives.length + (literal === undefined ? 0 : 1) > 1,
  )
  if (expressions.length < 2 && !hasAlternatives) return (value) => value
  const characters = new Set(['%'])
  if (hasAlternatives) characters.add('=')
  for (let i = 1; i < parts.length - 1; i++) {
    const part = parts[i]!
    if (typeof part === 'string') characters.add(String.fromCodePoint(part.codePointAt(0)!))
  }
  const codes = [...characters].map((character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
  const any = new RegExp(`[${codes.join('')}]`, 'u')
  const all = new RegExp(any.source, 'gu')
  return (value) => (any.test(value) ? value.replace(all, escapeCharacter) : value)
}

function escapeCharacter(character: string): string {
  const code = character.charCodeAt(0)
  // encodeURIComponent does not escape all of these.
  return code < 0x80 ? `%${code.toString(16).toUpperCase().padStart(2, '0')}` : encodeURIComponent(character)
}

/** The shared value of all requests with several different values of a part. */
const SEVERAL_VALUES = '(several values)'

function resolverOf(
  { alternatives, literal }: Expression,
  write: (value: string) => string,
): (request: RequestFacts) => string | undefined {
  const otherwise = literal === undefined ? undefined : write(literal)
  return (request) => {
    const found = firstOf(alternatives, request)
    if (found === undefined) return otherwise
    const { alternative } = found
    const value = found.value === AMBIGUOUS ? SEVERAL_VALUES : found.value
    const written = write(alternative.isHashed ? sha256Hex(value) : value)
    const isFirst = alternative === alternatives[0]
    return isFirst && written !== otherwise ? written : `${write(alternative.name)}=${written}`
  }
}

/** The first alternative with a value. An empty value counts as absent, because it identifies no client. */
function firstOf(
  alternatives: readonly Alternative[],
  request: RequestFacts,
): { alternative: Alternative; value: string | typeof AMBIGUOUS } | undefined {
  for (const alternative of alternatives) {
    const value = alternative.source(request)
    if (value !== undefined && value !== '') return { alternative, value }
  }
  return undefined
}

function assertText(text: unknown): asserts text is string {
  if (typeof text !== 'string' || text === '') {
    throw new TidegateError(
      'TEMPLATE_INVALID',
      `A key template must be a string such as "user:{header.x-user-id | 'anonymous'}", got ${show(text)}.`,
    )
  }
  const bad = /\p{Cc}|\p{Cs}/u.exec(text)
  if (bad !== null) throw invalid(text, bad.index, 'this character cannot be in a key; remove it')
}

function invalid(template: string, at: number, problem: string): TidegateError {
  return new TidegateError('TEMPLATE_INVALID', `In the key template ${show(template)} at ${at}: ${problem}.`)
}
