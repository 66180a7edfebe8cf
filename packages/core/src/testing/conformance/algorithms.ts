import { ManualClock } from '../../clock.js'
import { ReferenceStore } from '../reference-store.js'
import { expectedDecision, START_MS, TABLES } from '../tables.js'
import { randomTrace, runTrace } from '../trace.js'
import { EACH, type Suite, take } from './suite.js'

export function testAlgorithms({ describe, promise, deepEqual, operations }: Suite): void {
  describe('each algorithm', () => {
    for (const { title, policy, rows } of TABLES) {
      promise(title, async (store, clock) => {
        for (const row of rows) {
          clock.set(START_MS + row[0])
          deepEqual(await take(store, policy, 'k', row[1]), expectedDecision(policy, row, clock.nowMs()))
        }
      })
    }

    promise('decides random traces like the reference store', async (store, clock) => {
      for (const [i, { algorithm }] of EACH.entries()) {
        const trace = randomTrace(20_261_115 + i, algorithm, { length: 300, operations })
        const reference = new ManualClock(START_MS)
        const expected = await runTrace(trace, new ReferenceStore(reference), reference)
        deepEqual(await runTrace(trace, store, clock), expected)
        for (const key of new Set(trace.steps.map((step) => step.key))) {
          await store.reset({ policy: trace.steps[0]!.policy, key })
        }
      }
    })
  })
}
