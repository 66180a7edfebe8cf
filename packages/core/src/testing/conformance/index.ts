import { ManualClock } from '../../clock.js'
import type { FullStore } from '../../store/full-store.js'
import type { Operation } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { START_MS } from '../tables.js'
import { testSlots } from './acquire-and-release.js'
import { testAlgorithms } from './algorithms.js'
import { testBlocks } from './block-and-lift.js'
import { testChangedNumbers } from './changed-numbers.js'
import { testCharges } from './charges.js'
import { testClocks } from './clocks.js'
import { testClosing } from './closing.js'
import { testCosts } from './costs.js'
import { testCountDenied } from './count-denied.js'
import { testExactness } from './exactness.js'
import { testKeys } from './keys.js'
import { testPeekAndReset } from './peek-and-reset.js'
import { testRefunds } from './refunds.js'
import { testReservations } from './reserve-and-settle.js'
import { testSeveralLimits } from './several-limits.js'
import type { Suite } from './suite.js'
import { testTakeUpTo } from './units-to-spare.js'
import { testWindows } from './windows.js'

/** Options of `testStore`. */
export interface ConformanceOptions {
  /** `describe` of the test runner. */
  describe: (title: string, define: () => void) => void
  /** `it` of the test runner. */
  it: RunTest & { skip?: RunTest }
  /** A strict comparison: `assert.deepStrictEqual`, or `(a, b) => expect(a).toStrictEqual(b)`. */
  deepEqual: (actual: unknown, expected: unknown) => void
  /** Creates an empty store with the time of this clock. It is closed after each test. */
  open: (clock: ManualClock) => Store | Promise<Store>
  /** The operations of `FullStore` that the store implements. Default: none. */
  operations?: readonly Operation[]
  /** Tests that the store cannot pass, each with a reason. Default: none. */
  skip?: readonly Skip[]
}

type RunTest = (title: string, test: () => Promise<void>) => void

/** A test of `testStore` to skip. */
export interface Skip {
  /** The title of the test. */
  test: string
  /** Why the store cannot pass it. */
  reason: string
}

/**
 * Defines the tests of the `Store` contract, for a store of your own.
 *
 * @example
 * ```ts
 * testStore({ describe, it, deepEqual: assert.deepStrictEqual, open: (clock) => new MyStore({ clock }) })
 * ```
 */
export function testStore(options: ConformanceOptions): void {
  const { describe, it, deepEqual, open, operations = [], skip = [] } = options
  const unusedSkips = new Set(skip.map(({ test }) => test))

  function promise(title: string, test: (store: Store, clock: ManualClock) => Promise<void>): void {
    const skipEntry = skip.find((entry) => entry.test === title)
    unusedSkips.delete(title)
    if (skipEntry !== undefined) {
      // Uses `skip` of the runner if it has one, so that its report counts the test.
      const run = it.skip ?? it
      run(`${title} (skipped: ${skipEntry.reason})`, async () => {})
      return
    }
    it(title, async () => {
      const clock = new ManualClock(START_MS)
      const store = await open(clock)
      try {
        await test(store, clock)
      } finally {
        await store.close()
      }
    })
  }

  const suite: Suite = {
    describe,
    operations,
    deepEqual,
    promise,
    promiseOfFull: (title, test) => promise(title, (store, clock) => test(store as FullStore, clock)),
  }
  testAlgorithms(suite)
  testSeveralLimits(suite)
  testExactness(suite)
  testPeekAndReset(suite)
  testCosts(suite)
  testChangedNumbers(suite)
  testClocks(suite)
  testRefunds(suite)
  testKeys(suite)
  testClosing(suite)
  testWindows(suite)
  testCountDenied(suite)
  if (operations.includes('charge')) testCharges(suite)
  if (operations.includes('block')) testBlocks(suite)
  if (operations.includes('takeUpTo')) testTakeUpTo(suite)
  if (operations.includes('reserve')) testReservations(suite)
  if (operations.includes('release') && operations.includes('renew')) testSlots(suite)

  describe('the skip list', () => {
    it('names existing tests', async () => deepEqual([...unusedSkips], []))
  })
}
