import type { Variables } from '@tidegate/http'
import { listOf, refused, required, text } from '../argument.js'
import { hostOf, parseHostPattern } from '../host-pattern.js'
import { definePredicate } from '../predicate.js'
import type { GatewayRequest } from '../route.js'

export const Host = definePredicate({
  example: 'Host=**.example.org',
  args: {
    patterns: required(listOf((value) => parseHostPattern(text(value)))),
    includePort: refused('is not supported: the port is never looked at; remove it'),
  },
  shortcut: ['patterns'],
  isList: true,
  make({ patterns }) {
    const find = (request: GatewayRequest): Variables | undefined => {
      const host = hostOf(request.header('host'))
      for (const pattern of patterns) {
        const variables = pattern.match(host)
        if (variables !== undefined) return variables
      }
      return undefined
    }
    return {
      matches: (request) => find(request) !== undefined,
      names: patterns.flatMap(({ names }) => names),
      variablesOf: (request) => find(request) ?? {},
    }
  },
})
