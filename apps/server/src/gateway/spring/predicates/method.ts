import { listOf, method, required } from '../argument.js'
import { definePredicate } from '../predicate.js'

export const Method = definePredicate({
  example: 'Method=GET,POST',
  args: { methods: required(listOf(method)) },
  isList: true,
  make({ methods }) {
    const allowed = new Set(methods)
    return { matches: (request) => allowed.has(request.method) }
  },
})
