import { optional, regExp, required, text } from '../argument.js'
import { definePredicate } from '../predicate.js'

export const Query = definePredicate({
  example: 'Query=green',
  args: { param: required(text), regexp: optional(regExp) },
  make({ param, regexp }) {
    return {
      matches({ query }) {
        if (query === '') return false
        const values = new URLSearchParams(query).getAll(param)
        return regexp === undefined ? values.length > 0 : values.some((value) => regexp.test(value))
      },
    }
  },
})
