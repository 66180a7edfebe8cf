import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { msToUs } from '../clock.js'
import { ALGORITHM_NAMES, definePolicy, type Policy } from '../policy.js'
import { randomFrom } from '../testing/random.js'
import { START_MS } from '../testing/tables.js'
import { randomTrace } from '../testing/trace.js'
import { algorithmOf } from './all.js'
import { decideRow } from './decide-row.js'
import { clear, LAYOUT, makeRows, type Rows } from './rows.js'

/** The row that is written to; row 0 is nobody's. */
const OURS = 1

function read({ numbers, objects }: Rows): unknown {
  const from = OURS * LAYOUT.ROW
  return { numbers: numbers.slice(from, from + LAYOUT.ROW), object: objects[OURS] }
}

describe.each(ALGORITHM_NAMES)('%s', (name) => {
  it('answers a check as decide would, and leaves the same state behind', () => {
    holds(
      `take-${name}`,
      fc.integer({ min: 0, max: 2 ** 31 }),
      (seed) => {
        const taken = makeRows(OURS + 1)
        const decided = makeRows(OURS + 1)
        let isNew = true
        const { steps } = randomTrace(seed, name, { length: 100, clockStepsBack: true, numbersChange: true })
        for (const step of steps) {
          const { policy } = step
          const algorithm = algorithmOf(policy)
          const now = msToUs(step.timeMs)
          if (step.do === 'check') {
            isNew = false
            const decision = algorithm.check(policy, taken, OURS, now, step.cost)
            expect(decision).toStrictEqual(
              decideRow(algorithm, policy, decided, OURS, now, step.cost, 'take'),
            )
          } else if (step.do === 'refund' && !isNew) {
            const of = msToUs(steps[step.ofStep]!.timeMs)
            for (const rows of [taken, decided]) algorithm.refund(policy, rows, OURS, now, of, step.cost)
            // A store forgets a key of which nothing is left.
            isNew = taken.numbers[OURS * LAYOUT.ROW + LAYOUT.EXPIRES_AT]! <= now
          } else if (step.do === 'reset') {
            isNew = true
          }
          if (isNew) for (const rows of [taken, decided]) clear(rows, OURS)
          expect(read(taken)).toStrictEqual(read(decided))
        }
      },
      { runs: 500 },
    )
  })
})

/** Numbers that random traces rarely meet: of one unit or window, with others; and of products beyond 2^53. */
const ALIKE: Policy[][] = [
  ...(['token-bucket', 'leaky-bucket'] as const).map((algorithm) =>
    [3, 10, 1000].flatMap((capacity) =>
      [1, 3, 7, 1001].map((n) =>
        definePolicy({
          algorithm,
          name: 'p',
          capacity,
          [algorithm === 'token-bucket' ? 'refillRate' : 'leakRate']: `${n}/1s`,
        }),
      ),
    ),
  ),
  ...(['fixed-window', 'sliding-window-counter'] as const).map((algorithm) =>
    [10, 1_000_000_000].map((limit) => definePolicy({ algorithm, name: 'p', limit, window: '366d' })),
  ),
]

describe.each(ALIKE.map((policies) => ({ policies, name: policies[0]!.algorithm })))(
  '$name',
  ({ policies, name }) => {
    it('answers a check as decide would, where another policy wrote the row in the same unit', () => {
      holds(
        `check-alike-${name}`,
        fc.integer({ min: 0, max: 2 ** 31 }),
        (seed) => {
          const random = randomFrom(seed)
          const algorithm = algorithmOf(policies[0]!)
          const taken = makeRows(OURS + 1)
          const decided = makeRows(OURS + 1)
          let now = msToUs(START_MS)
          for (let i = 0; i < 50; i++) {
            const policy = random.oneOf(policies)
            const cost = random.between(1, random.oneOf([1, policy.limit]))
            expect(algorithm.check(policy, taken, OURS, now, cost)).toStrictEqual(
              decideRow(algorithm, policy, decided, OURS, now, cost, 'take'),
            )
            expect(read(taken)).toStrictEqual(read(decided))
            // Mostly to the very moment at which the row expires, or to some moment before it.
            const left = Math.max(0, decided.numbers[OURS * LAYOUT.ROW + LAYOUT.EXPIRES_AT]! - now)
            now += random.oneOf([0, random.between(0, left), left, left + random.between(-1, 1)])
          }
        },
        { runs: 500 },
      )
    })
  },
)

/** Of all but the log, which has none. */
const SHORTCUTS: Policy[] = [
  definePolicy({ algorithm: 'fixed-window', name: 'fixed', limit: 50, window: '1m' }),
  definePolicy({ algorithm: 'sliding-window-counter', name: 'counter', limit: 50, window: '1m' }),
  definePolicy({ algorithm: 'token-bucket', name: 'tokens', capacity: 50, refillRate: '3/1m' }),
  definePolicy({ algorithm: 'leaky-bucket', name: 'leaky', capacity: 50, leakRate: '3/1m' }),
]

describe.each(SHORTCUTS)('$algorithm', (policy) => {
  it('decides by itself whatever fits into a window that runs, new keys too, and leaves the rest to decide', () => {
    const algorithm = algorithmOf(policy)
    const decide = vi.spyOn(algorithm, 'decide')
    const rows = makeRows(OURS + 1)
    const start = Math.ceil(START_MS / 60_000) * 60_000_000
    for (let i = 0; i < 50; i++) {
      expect(algorithm.check(policy, rows, OURS, start + i * 1000, 1)).toMatchObject({
        allowed: true,
        remaining: 49 - i,
      })
    }
    expect(decide).not.toHaveBeenCalled()
    expect(algorithm.check(policy, rows, OURS, start + 50_000, 1).allowed).toBe(false)
    expect(decide).toHaveBeenCalledOnce()
    decide.mockRestore()
  })
})

it('counts exactly where a count times a window passes 2^53', () => {
  const limit = 1_000_000_000
  const policy = definePolicy({ algorithm: 'sliding-window-counter', name: 'year', limit, window: '366d' })
  const algorithm = algorithmOf(policy)
  const window = 366 * 86_400_000_000
  const rows = makeRows(OURS + 1)
  algorithm.check(policy, rows, OURS, 50 * window, 999_999_997)
  // A window that has turned, so that the older count is there. Its share is 477,549,667 and nearly a whole one more.
  algorithm.check(policy, rows, OURS, 51 * window + 1_000_000_000_000, 1)
  const now = 52 * window - 15_101_266_666_667
  expect(algorithm.check(policy, rows, OURS, now, 1).remaining).toBe(limit - 477_549_667 - 2)
})
