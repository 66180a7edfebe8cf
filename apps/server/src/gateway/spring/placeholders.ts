import type { GatewayRequest } from '../route.js'
import { invalid } from './argument.js'
import type { FilterContext } from './filter.js'

const NAME = /\{([A-Za-z_][\w-]*)\}/

/**
 * Parses text with `{names}`, whose values the predicates Path and Host extract. Values keep the escapes of the path, so that
 * they are valid in paths and headers. Other braces are literal.
 */
export function parsePlaceholders(
  text: string,
  { names, variablesOf }: FilterContext,
  field: string,
): string | ((request: GatewayRequest) => string) {
  if (!NAME.test(text)) return text
  const pieces = text.split(new RegExp(NAME, 'g'))
  // Names are at odd positions.
  for (const [i, piece] of pieces.entries()) {
    if (i % 2 === 0 || names.includes(piece)) continue
    const advice =
      names.length === 0
        ? `add it to a predicate, such as Path=/{${piece}}/**`
        : `use one of ${[...new Set(names)].join(', ')}`
    throw invalid(
      `has {${piece}}, which the predicates Path and Host of the route do not define; ${advice}`,
      field,
    )
  }
  return (request) => {
    const variables = variablesOf(request)
    return pieces.map((piece, i) => (i % 2 === 0 ? piece : (variables[piece] ?? ''))).join('')
  }
}
