import { optional, regExp, required, text } from '../argument.js'
import { wholly } from '../java-regexp.js'
import { definePredicate } from '../predicate.js'

export const Query = definePredicate({
  example: 'Query=green',
  args: { param: required(text), regexp: optional(regExp) },
  make({ param, regexp }) {
    const whole = regexp === undefined ? undefined : wholly(regexp)
    return {
      matches({ query }) {
        if (query === '') return false
        const values = new URLSearchParams(query).getAll(param)
        return whole === undefined ? values.length > 0 : values.some((value) => whole.test(value))
      },
    }
  },
})
