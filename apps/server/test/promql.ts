/** The series that a Prometheus query selects. */
export interface Query {
  readonly selectors: readonly Selector[]
  /** The labels that it groups or joins by. */
  readonly groupedBy: readonly string[]
}

interface Selector {
  readonly name: string
  readonly matchers: readonly Matcher[]
}

interface Matcher {
  readonly label: string
  readonly operator: string
  readonly value: string
}

const TOKEN = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\$\w+|\d[\w.]*|[A-Za-z_:][\w:]*|=~|!~|[=!<>]=|\S/g
const GROUPING = ['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']
const WORDS = ['and', 'or', 'unless', 'bool', 'offset', 'atan2', 'inf', 'nan']

/** Finds the series of a query, to check that they exist. The query itself is not validated. */
export function readQuery(text: string): Query {
  const tokens: readonly string[] = text.match(TOKEN) ?? []
  const selectors: Selector[] = []
  const groupedBy: string[] = []
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!
    const next = tokens[i + 1]
    if (token === '{') throw new Error(`A selector without a name in ${text}`)
    if (!/^[A-Za-z_:]/.test(token) || WORDS.includes(token.toLowerCase())) continue
    if (GROUPING.includes(token)) {
      if (next !== '(') continue
      const end = tokens.indexOf(')', i)
      groupedBy.push(...tokens.slice(i + 2, end).filter((label) => label !== ','))
      i = end
    } else if (next === '{') {
      const end = tokens.indexOf('}', i)
      selectors.push({ name: token, matchers: matchersIn(tokens.slice(i + 2, end)) })
      i = end
    } else if (next !== '(' && next !== 'by' && next !== 'without') {
      // A name before a parenthesis is a function, and before a grouping an aggregation.
      selectors.push({ name: token, matchers: [] })
    }
  }
  return { selectors, groupedBy }
}

function matchersIn(tokens: readonly string[]): Matcher[] {
  const matchers: Matcher[] = []
  for (let i = 0; i < tokens.length; i += 4) {
    const [label, operator, value] = tokens.slice(i, i + 3)
    if (value === undefined) break
    matchers.push({ label: label!, operator: operator!, value: value.slice(1, -1) })
  }
  return matchers
}
