import { type CST, type Document, visit, type YAMLError } from 'yaml'

/** A syntax error in YAML, and its position. */
export interface SyntaxProblem {
  offset: number
  message: string
}

/** Returns the first problem of each line: further problems on the same line are usually consequences of it. */
export function syntaxProblems(
  text: string,
  documents: readonly Document[],
  lineOf: (offset: number) => number,
): SyntaxProblem[] {
  const byLine = new Map<number, SyntaxProblem>()
  for (const document of documents) {
    for (const error of [...document.errors, ...document.warnings]) {
      const problem = problemOf(text, document, error)
      const line = lineOf(problem.offset)
      if (!byLine.has(line)) byLine.set(line, problem)
    }
  }
  return [...byLine.values()]
}

export function secondDocument(document: Document): SyntaxProblem {
  return {
    offset: document.range?.[0] ?? 0,
    message: 'only one document is allowed; remove this ---',
  }
}

function problemOf(text: string, document: Document, error: YAMLError): SyntaxProblem {
  const [offset] = error.pos
  const isVariable = text.slice(offset - 1, offset + 1) === '${'
  if (isVariable) {
    const variable = /^\$\{[^}\n]*\}?/.exec(text.slice(offset - 1))?.[0] ?? '${'
    return {
      offset: offset - 1,
      message: `inside { } or [ ], a variable needs quotes: write "${variable}"`,
    }
  }
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return { offset, message: 'tabs are not allowed for indentation; use spaces' }
    case 'BLOCK_IN_FLOW':
      return { offset, message: 'inside { } or [ ], a value with a brace or a colon needs quotes' }
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return {
        offset,
        message: 'second ":" in one value; put the value in quotes, or fix the indentation of the next line',
      }
    case 'BAD_INDENT': {
      const isUnclosed = error.message.startsWith('Flow')
      const aligned = 'this line must be indented like the entries beside it'
      const closed = `missing ${error.message.at(-1)} before this line, or the line must be indented`
      return { offset, message: isUnclosed ? closed : aligned }
    }
    case 'BAD_SCALAR_START':
      return { offset, message: `a value cannot begin with ${text[offset]}; put it in quotes` }
    case 'NON_STRING_KEY':
      return { offset, message: 'a key must be text; put it in quotes' }
    case 'TAG_RESOLVE_FAILED':
      return { offset, message: 'tags such as !name are not supported; remove the tag' }
    case 'MISSING_CHAR':
      return unclosedQuote(document, offset) ?? { offset, message: yamlMessage(error.message) }
    default:
      return { offset, message: yamlMessage(error.message) }
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

function yamlMessage(message: string): string {
  return `invalid YAML: ${message.slice(0, 1).toLowerCase()}${message.slice(1)}`
}

/** Finds the first value that is nested too deep. Not recursive, because deep nesting would exhaust the stack. */
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
