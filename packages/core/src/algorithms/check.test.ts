import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { msToUs } from '../clock.js'
import { ALGORITHM_NAMES, definePolicy, type Policy } from '../policy.js'
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
