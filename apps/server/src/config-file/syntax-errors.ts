import { type CST, type Document, visit, type YAMLError } from 'yaml'

/** A syntax error in YAML, and its position. */
export interface SyntaxProblem {
  offset: number
  message: string
}

/** The first problem of each line: further problems on the same line are usually consequences of it. */
export function syntaxProblems(
  text: string,
  documents: readonly Document[],
  lineOf: (offset: number) => number,
): SyntaxProblem[] {
  const found = new Map<number, SyntaxProblem>()
  for (const document of documents) {
    for (const error of [...document.errors, ...document.warnings]) {
      const problem = problemOf(text, document, error)
      if (!found.has(lineOf(problem.offset))) found.set(lineOf(problem.offset), problem)
    }
  }
  return [...found.values()]
}

export function secondDocument(document: Document): SyntaxProblem {
  return {
    offset: document.range?.[0] ?? 0,
    message: 'a second document begins here; write one document, without ---',
  }
}

function problemOf(text: string, document: Document, error: YAMLError): SyntaxProblem {
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
      return { offset, message: 'a tab must not be used for indentation; use spaces' }
    case 'BLOCK_IN_FLOW':
      return { offset, message: 'a value with a brace or a colon in it needs quotes inside { } or [ ]' }
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return {
        offset,
        message:
          'a second ":" in one value: put the value in quotes, or fix the indentation of the next line',
      }
    case 'BAD_INDENT': {
      const isUnclosed = error.message.startsWith('Flow')
      const aligned = 'the indentation of this line must be that of the entries beside it'
      const closed = `a ${error.message.at(-1)} is missing before this line, or the line must be indented`
      return { offset, message: isUnclosed ? closed : aligned }
    }
    case 'BAD_SCALAR_START':
      return { offset, message: `a value cannot begin with ${text[offset]}; put it in quotes` }
    case 'NON_STRING_KEY':
      return { offset, message: 'a key must be text' }
    case 'TAG_RESOLVE_FAILED':
      return { offset, message: 'tags such as !name are not supported; remove the tag' }
    case 'MISSING_CHAR':
      return unclosedQuote(document, offset) ?? { offset, message: lowered(error.message) }
    default:
      return { offset, message: lowered(error.message) }
  }
}

/** A missing quote is detected at the end of the file; the error is reported where the quote begins. */
function unclosedQuote(document: Document, detectedAt: number): SyntaxProblem | undefined {
  let offset: number | undefined
  visit(document, {
    Scalar(_key, node) {
      const isQuoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE'
      const [start, end] = node.range ?? [0, 0]
      if (isQuoted && start < detectedAt && end >= detectedAt) offset = start
    },
  })
  return offset === undefined ? undefined : { offset, message: 'this quote is not closed' }
}

function lowered(message: string): string {
  return `invalid YAML: ${message.slice(0, 1).toLowerCase()}${message.slice(1)}`
}

/** The position of the first value that is nested too deep. Not recursive, so that deep nesting cannot exhaust the stack. */
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
