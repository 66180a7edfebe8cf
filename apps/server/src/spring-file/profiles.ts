/** Evaluates `prod`, `!test`, `eu & (prod | staging)`, or several separated by commas. Undefined if it is not valid. */
export function matchesProfiles(condition: string, active: ReadonlySet<string>): boolean | undefined {
  const results = condition.split(',').map((expression) => evaluate(expression.trim(), active))
  return results.includes(undefined) ? undefined : results.includes(true)
}

/** Evaluates one expression. As in Spring, `&` and `|` cannot be mixed without parentheses. */
function evaluate(expression: string, active: ReadonlySet<string>): boolean | undefined {
  const tokens = expression.match(/[()&|!]|[^\s()&|!]+/g) ?? []
  let at = 0
  const result = sequence(0)
  return at === tokens.length ? result : undefined

  function sequence(depth: number): boolean | undefined {
    let value = operand(depth)
    let operator: string | undefined
    while (value !== undefined && (tokens[at] === '&' || tokens[at] === '|')) {
      operator ??= tokens[at]
      if (tokens[at++] !== operator) return undefined
      const next = operand(depth)
      if (next === undefined) return undefined
      value = operator === '&' ? value && next : value || next
    }
    return value
  }

  function operand(depth: number): boolean | undefined {
    const token = tokens[at++]
    if (token === undefined || depth > MAX_DEPTH || token === '&' || token === '|' || token === ')')
      return undefined
    if (token === '!') {
      const value = operand(depth + 1)
      return value === undefined ? undefined : !value
    }
    if (token !== '(') return active.has(token)
    const value = sequence(depth + 1)
    return tokens[at++] === ')' ? value : undefined
  }
}

const MAX_DEPTH = 16
