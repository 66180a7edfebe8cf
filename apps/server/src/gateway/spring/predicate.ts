import type { Predicate } from '../route.js'
import { type Definer, definePart, type Part } from './part.js'

export type PredicatePart = Part<undefined, Predicate>

export const definePredicate: Definer<undefined, Predicate> = definePart
