import { pathReadings } from '@tidegate/http'
import { flag, invalid, listOf, optional, required, text } from '../argument.js'
import { parsePathPattern } from '../path-pattern.js'
import { definePredicate } from '../predicate.js'

export const Path = definePredicate({
  example: 'Path=/api/**',
  args: {
    patterns: required((value) => {
      const patterns = [value].flat()
      // In a shortcut, Spring reads a final true or false as matchTrailingSlash.
      const last = patterns.at(-1)
      if (patterns.length > 1 && (last === 'true' || last === 'false')) assertTrailingSlash(patterns.pop())
      return listOf((one) => parsePathPattern(text(one)))(typeof value === 'string' ? value : patterns)
    }),
    matchTrailingSlash: optional(assertTrailingSlash),
  },
  shortcut: ['patterns'],
  isList: true,
  make({ patterns }) {
    return {
      matches(request) {
        const { all } = pathReadings(request)
        return patterns.some((pattern) => all.some((path) => pattern.matches(path)))
      },
      names: patterns.flatMap(({ names }) => names),
      variablesOf(request) {
        const { all } = pathReadings(request)
        for (const pattern of patterns) {
          for (const path of all) {
            const variables = pattern.variablesOf(path)
            if (variables !== undefined) return variables
          }
        }
        return {}
      },
    }
  },
})

function assertTrailingSlash(value: unknown): void {
  if (flag(value)) return
  throw invalid('must not be false, because a trailing slash is always ignored; remove it')
}
