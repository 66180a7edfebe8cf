import { listOf, refused, required, text } from '../argument.js'
import { parsePathPattern } from '../path-pattern.js'
import { definePredicate } from '../predicate.js'

export const Path = definePredicate({
  example: 'Path=/api/**',
  args: {
    patterns: required(listOf((value) => parsePathPattern(text(value)))),
    matchTrailingSlash: refused('is not needed: a slash at the end of a path means nothing here; remove it'),
  },
  shortcut: ['patterns'],
  isList: true,
  make({ patterns }) {
    const [only] = patterns
    return {
      matches:
        patterns.length === 1
          ? ({ path }) => only!.matches(path)
          : ({ path }) => patterns.some((pattern) => pattern.matches(path)),
      names: patterns.flatMap(({ names }) => names),
      variablesOf({ path }) {
        for (const pattern of patterns) {
          const variables = pattern.variablesOf(path)
          if (variables !== undefined) return variables
        }
        return {}
      },
    }
  },
})
