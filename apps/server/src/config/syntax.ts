import { type CST, type Document, visit, type YAMLError } from 'yaml'

/** What is wrong with a text that is not YAML, and where. */
export interface SyntaxProblem {
  offset: number
  message: string
}

/** The first problem of each line: what follows it on the same line is usually only its consequence. */
export function syntaxProblems(
  text: string,
  documents: readonly Document[],
  lineOf: (offset: number) => number,
): SyntaxProblem[] {
  const [document, second] = documents
  if (document === undefined) return []
  const found = new Map<number, SyntaxProblem>()
  for (const error of [...document.errors, ...document.warnings]) {
    const problem = inOurWords(text, document, error)
    if (!found.has(lineOf(problem.offset))) found.set(lineOf(problem.offset), problem)
  }
  if (second !== undefined && found.size === 0) {
    found.set(0, {
      offset: second.range?.[0] ?? 0,
      message: 'a second document begins here; keep one, without --- between',
    })
  }
  return [...found.values()]
}

function inOurWords(text: string, document: Document, error: YAMLError): SyntaxProblem {
  const [offset] = error.pos
  const isVariable = text.slice(offset - 1, offset + 1) === '${'
  if (isVariable) {
    const variable = /^\$\{[^}\n]*\}?/.exec(text.slice(offset - 1))?.[0] ?? '${'
    return {
      offset: offset - 1,
      message: `inside { } or [ ] a variable needs quotes: write "${variable}"`,
    }
  }
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return { offset, message: 'a tab cannot indent; use spaces' }
    case 'BLOCK_IN_FLOW':
      return { offset, message: 'a value with a brace or a colon in it needs quotes inside { } or [ ]' }
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return {
        offset,
        message:
          'a second ":" in one value: put the value in quotes, or mend the indentation of the next line',
      }
    case 'BAD_INDENT': {
      const isUnclosed = error.message.startsWith('Flow')
      const aligned = 'this line must begin at the column of the others of its kind'
      const closed = `a ${error.message.at(-1)} is missing before this, or spaces at the beginning of the line`
      return { offset, message: isUnclosed ? closed : aligned }
    }
    case 'BAD_SCALAR_START':
      return { offset, message: `a value cannot begin with ${text[offset]}; put it in quotes` }
    case 'NON_STRING_KEY':
      return { offset, message: 'a key must be text' }
    case 'TAG_RESOLVE_FAILED':
      return { offset, message: 'tags (!name) mean nothing here; remove it' }
    case 'MISSING_CHAR':
      return unclosedQuote(document, offset) ?? { offset, message: lowered(error.message) }
    default:
      return { offset, message: lowered(error.message) }
  }
}

/** The end of the file is where a missing quote is noticed; where it begins is what helps. */
function unclosedQuote(document: Document, noticedAt: number): SyntaxProblem | undefined {
  let offset: number | undefined
  visit(document, {
    Scalar(_key, node) {
      const isQuoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE'
      const [start, end] = node.range ?? [0, 0]
      if (isQuoted && start < noticedAt && end >= noticedAt) offset = start
    },
  })
  return offset === undefined ? undefined : { offset, message: 'a quote begins here and does not end' }
}

function lowered(message: string): string {
  return `not YAML: ${message.slice(0, 1).toLowerCase()}${message.slice(1)}`
}

/** Where collections are inside each other beyond a limit; found without calls inside each other. */
export function firstTooDeep(tokens: readonly CST.Token[], maxDepth: number): number | undefined {
  const todo: { token: CST.Token | null | undefined; depth: number }[] = tokens.map((token) => ({
    token,
    depth: 0,
  }))
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { token, depth } = next
    if (token === null || token === undefined) continue
    if (depth > maxDepth) return token.offset
    if (token.type === 'document') todo.push({ token: token.value, depth })
    if (!('items' in token)) continue
    for (const item of token.items) {
      todo.push({ token: item.key, depth: depth + 1 }, { token: item.value, depth: depth + 1 })
    }
  }
  return undefined
}
