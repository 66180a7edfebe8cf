import { required, text, wholeNumber } from '../argument.js'
import { definePredicate } from '../predicate.js'

export const Weight = definePredicate({
  example: 'Weight=group1, 8',
  args: { group: required(text), weight: required(wholeNumber(0, 1_000_000)) },
  make: (weight) => ({ matches: () => true, weight }),
})
