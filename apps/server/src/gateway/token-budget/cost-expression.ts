import type { Usage } from '../route.js'

/*
 * The cost of a request as a sum of products: `input*3 + output*15`. The arithmetic is exact: prices have decimals, and
 * a sum of floating-point products such as 0.07 * 100 would be rounded up to a unit too many.
 */

export interface CostExpression {
  readonly text: string
  /** Whole units, rounded up. */
  costOf(usage: Usage): number
}

const MAX_LENGTH = 200
const EXAMPLE = '"input*3 + output*15"'
const NAMES = ['input', 'output', 'cached'] as const
type Name = (typeof NAMES)[number]

/** `digits / 10 ** decimals`. */
interface Decimal {
  readonly digits: bigint
  readonly decimals: number
}
type Term = (usage: Usage) => Decimal

class SyntaxProblem extends Error {}

/**
 * Parses numbers, `input`, `output`, `cached`, `+`, `*` and parentheses. With `cached` in the expression, `input` is
 * the input tokens that were not read from the cache, so that each token is charged once; without it, `input` is all.
 * `problem` completes a sentence that begins with the name of the option.
 */
export function parseCost(text: string): CostExpression | { readonly problem: string } {
  if (text.length > MAX_LENGTH) {
    return { problem: `must be at most ${MAX_LENGTH} characters, such as ${EXAMPLE}, got ${text.length}` }
  }
  try {
    return compile(text)
  } catch (error) {
    if (error instanceof SyntaxProblem) return { problem: error.message }
    throw error
  }
}

function compile(text: string): CostExpression {
  const tokens = tokensIn(text)
  const term = parse(tokens)
  const chargesCached = tokens.some(({ text }) => text === 'cached')
  const costOf = ({ input, output, cached }: Usage) =>
    roundUp(term({ input: chargesCached ? Math.max(0, input - cached) : input, output, cached }))
  if (costOf({ input: 0, output: 0, cached: 0 }) === costOf({ input: 1e9, output: 1e9, cached: 5e8 })) {
    throw new SyntaxProblem(`must depend on input or output, such as ${EXAMPLE}, got "${text}"`)
  }
  return { text, costOf }
}

interface Token {
  readonly kind: 'number' | 'name' | 'symbol'
  readonly text: string
  /** From 1. */
  readonly position: number
}

const TOKEN = /\s*(?:(?<number>\d+(?:\.\d+)?)|(?<name>[a-zA-Z_]+)|(?<symbol>[+*()]))/y
const NUMBER = /^\d{1,12}(\.\d{1,9})?$/

function tokensIn(text: string): Token[] {
  const tokens: Token[] = []
  const end = text.trimEnd().length
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < end) {
    const from = TOKEN.lastIndex
    const groups = TOKEN.exec(text)?.groups
    if (groups === undefined) {
      const at = from + text.slice(from).search(/\S/)
      const character = String.fromCodePoint(text.codePointAt(at)!)
      throw new SyntaxProblem(
        `has an unexpected "${character}" at position ${at + 1}; write numbers, input, output, cached, + and *, such as ${EXAMPLE}`,
      )
    }
    const kind = groups.number !== undefined ? 'number' : groups.name !== undefined ? 'name' : 'symbol'
    const token = { kind, text: groups[kind]!, position: TOKEN.lastIndex - groups[kind]!.length + 1 } as const
    if (kind === 'number' && !NUMBER.test(token.text)) {
      throw new SyntaxProblem(
        `has the number ${token.text}, which is too long; write at most 12 digits before the point and 9 after, such as 0.25`,
      )
    }
    if (kind === 'name' && !NAMES.includes(token.text as Name)) {
      throw new SyntaxProblem(
        `has the unknown name "${token.text}"; write input, output or cached, such as ${EXAMPLE}`,
      )
    }
    tokens.push(token)
  }
  return tokens
}

/** Recursive descent: sums of products of numbers, names and sums in parentheses. */
function parse(tokens: readonly Token[]): Term {
  let next = 0
  const accept = (symbol: string) => {
    if (tokens[next]?.text !== symbol) return false
    next++
    return true
  }
  const sum = (): Term => {
    let left = product()
    while (accept('+')) left = add(left, product())
    return left
  }
  const product = (): Term => {
    let left = factor()
    while (accept('*')) left = multiply(left, factor())
    return left
  }
  const factor = (): Term => {
    const token = tokens[next++]
    if (token?.kind === 'number') return constant(token.text)
    if (token?.kind === 'name') return variable(token.text as Name)
    if (token?.text === '(') {
      const inner = sum()
      if (accept(')')) return inner
      throw new SyntaxProblem(
        `needs a ")" for the "(" at position ${token.position}; write for example (input + output)*2`,
      )
    }
    const where = token === undefined ? 'at the end' : `before "${token.text}" at position ${token.position}`
    throw new SyntaxProblem(`needs a number or a name ${where}; write for example ${EXAMPLE}`)
  }
  const term = sum()
  const rest = tokens[next]
  if (rest === undefined) return term
  const missing = rest.text === ')' ? '"("' : '+ or *'
  throw new SyntaxProblem(
    `needs ${missing} before "${rest.text}" at position ${rest.position}; write for example ${EXAMPLE}`,
  )
}

function constant(text: string): Term {
  const [whole = '', fraction = ''] = text.split('.')
  const value = { digits: BigInt(whole + fraction), decimals: fraction.length }
  return () => value
}

function variable(name: Name): Term {
  return (usage) => ({ digits: BigInt(usage[name]), decimals: 0 })
}

function add(left: Term, right: Term): Term {
  return (usage) => {
    const a = left(usage)
    const b = right(usage)
    const decimals = Math.max(a.decimals, b.decimals)
    return { digits: scale(a, decimals) + scale(b, decimals), decimals }
  }
}

function multiply(left: Term, right: Term): Term {
  return (usage) => {
    const a = left(usage)
    const b = right(usage)
    return { digits: a.digits * b.digits, decimals: a.decimals + b.decimals }
  }
}

function scale({ digits, decimals }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(to - decimals)
}

function roundUp({ digits, decimals }: Decimal): number {
  const unit = 10n ** BigInt(decimals)
  return Math.min(Number((digits + unit - 1n) / unit), Number.MAX_SAFE_INTEGER)
}
