import type { Variables } from '@tidegate/http'
import type { GatewayRequest } from '../../route.js'
import { listOf, required, text, unsupported } from '../argument.js'
import { hostOf, parseHostPattern, portOf } from '../host-pattern.js'
import { definePredicate } from '../predicate.js'

export const Host = definePredicate({
  example: 'Host=**.example.org',
  args: {
    patterns: required(listOf((value) => parseHostPattern(text(value)))),
    includePort: unsupported('is not supported: the port is compared if a pattern has one; remove it'),
  },
  shortcut: ['patterns'],
  isList: true,
  make({ patterns }) {
    const find = (request: GatewayRequest): Variables | undefined => {
      const header = request.header('host')
      const host = hostOf(header)
      for (const pattern of patterns) {
        if (pattern.port !== undefined && pattern.port !== portOf(header)) continue
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
