import { expect, it } from 'vitest'
import type { DescriptorRule } from '../limits/rule.js'
import { uncountedOutcome } from './count.js'

const RULE = { limit: 5 } as DescriptorRule

it.each([
  ['closed', 0, true, 6],
  ['closed', 1, true, 6],
  ['closed', 3, true, 8],
  ['open', 0, false, 0],
  ['open', 5, false, 5],
  ['open', 6, true, 11],
] as const)(
  '%s without a count, with %i hits: over the limit is %s, with %i after it',
  (mode, hits, isOver, after) => {
    expect(uncountedOutcome(RULE, hits, 1, mode)).toMatchObject({ isOver, after })
  },
)
