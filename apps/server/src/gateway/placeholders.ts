import { unfit } from './argument.js'
import type { FilterSite } from './filter.js'
import type { GatewayRequest } from './route.js'

const NAME = /\{([A-Za-z_][\w-]*)\}/

/**
 * Text with `{names}` in it, for which the predicates Path and Host find the values. A value is written as it is in the
 * path, with its escapes, so that it can be a piece of a path or of a header. Braces around anything else stand for
 * themselves.
 */
export function parsePlaceholders(
  text: string,
  { names, variablesOf }: FilterSite,
  field: string,
): string | ((request: GatewayRequest) => string) {
  if (!NAME.test(text)) return text
  const pieces = text.split(new RegExp(NAME, 'g'))
  // What was captured stands at the odd places.
  for (const [i, piece] of pieces.entries()) {
    if (i % 2 === 0 || names.includes(piece)) continue
    const known =
      names.length === 0 ? 'there is none in it' : `there is only ${[...new Set(names)].join(', ')}`
    throw unfit(`has {${piece}}, which no Path or Host of the route finds a value for; ${known}`, field)
  }
  return (request) => {
    const variables = variablesOf(request)
    return pieces.map((piece, i) => (i % 2 === 0 ? piece : (variables[piece] ?? ''))).join('')
  }
}
