import { optional, regExp, required } from '../argument.js'
import { anyHeaderName } from '../header-names.js'
import { definePredicate } from '../predicate.js'

export const Header = definePredicate({
  example: 'Header=X-Request-Id, \\d+',
  args: { header: required(anyHeaderName), regexp: optional(regExp) },
  make({ header, regexp }) {
    if (regexp === undefined) return { matches: (request) => request.header(header) !== undefined }
    return {
      matches(request) {
        const value = request.header(header)
        return value !== undefined && regexp.test(value)
      },
    }
  },
})
