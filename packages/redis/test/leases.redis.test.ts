import { definePolicy, type LeaseCounts, type RatePolicy } from '@tidegate/core'
import { type Admission, findOverAdmission } from '@tidegate/core/testing'
import { pause } from '@tidegate/fixtures/until'
import { describe, expect, it } from 'vitest'
import { useRedisChildren } from './redis-children.js'

// Four processes with leases of one key on a real Redis, verified by when each admitted check began and ended. All
// processes use the clock of this machine.

const DURATION_MS = 3500
/** The default share of a lease. */
const SHARE = 0.05
/** With longer stalls, the machine is too busy to compare numbers of admissions exactly. */
const MAX_STALL_MS = 50
const ATTEMPTS = 4

interface Report {
  admissions: Admission[]
  checks: number
  degraded: number
  /** Over all leased policies of this process so far. */
  leases: LeaseCounts
  /** The longest time for which the process did not run. */
  stalledMs: number
}

const run = useRedisChildren<object, Report[]>(new URL('./leasing-process.mjs', import.meta.url), 4)
let keys = 0

/** Checks a new key by each policy, in all processes at the same time. Returns the reports of each policy. */
async function loadEach(policies: readonly object[], workers: number, pauseMs: number): Promise<Report[][]> {
  const key = `k${keys++}`
  const ofProcesses = await run({ policies, key, durationMs: DURATION_MS, workers, pauseMs })
  return policies.map((_, i) => ofProcesses.map((reports) => reports[i]!))
}

const lease = { maxAge: '100ms', share: 0.2 }
const POLICIES: readonly object[] = [
  { algorithm: 'fixed-window', limit: 400, window: '1s', name: 'fixed', lease, instances: 4 },
  { algorithm: 'sliding-window-counter', limit: 400, window: '1s', name: 'counter', lease, instances: 4 },
  { algorithm: 'sliding-window-log', limit: 400, window: '1s', name: 'log', lease, instances: 4 },
  { algorithm: 'token-bucket', capacity: 200, refillRate: 400, name: 'bucket', lease, instances: 4 },
]

describe('four processes at one key', () => {
  it('demand above the limit: no algorithm admits more than without leases', async () => {
    const all = await loadEach(POLICIES, 20, 5)
    for (const [i, reports] of all.entries()) {
      const policy = definePolicy(POLICIES[i]!) as RatePolicy
      const history = reports.flatMap(({ admissions }) => admissions)
      expect(findOverAdmission(policy, history), policy.name).toBeUndefined()
      expect(reports.map(({ degraded }) => degraded)).toStrictEqual([0, 0, 0, 0])
      // At least two whole windows; a log admits a little less.
      expect(history.length).toBeGreaterThan(800)
      expect(reports.some(({ leases }) => leases.leasedChecks > 0)).toBe(true)
    }
  })

  // With a lease, units of a log count for longer, and a bucket has a smaller burst. The exact limits have that too.
  it.each<[algorithm: string, part: number, leased: object, exact: object]>([
    ['fixed-window', 0.995, { limit: 1000, window: '1s' }, { limit: 1000, window: '1s' }],
    ['sliding-window-counter', 0.995, { limit: 1000, window: '1s' }, { limit: 1000, window: '1s' }],
    ['sliding-window-log', 1 - SHARE, { limit: 400, window: '1s' }, { limit: 400, window: '1100ms' }],
    ['token-bucket', 1 - SHARE, { capacity: 200, refillRate: 400 }, { capacity: 160, refillRate: 400 }],
  ])(
    'demand above the limit: %s admits at least %d of the exact limit beside it, and never more than the algorithm',
    async (algorithm, part, numbers, exactNumbers) => {
      const lease = { maxAge: '100ms', share: SHARE }
      const leased = { algorithm, ...numbers, name: `${algorithm}-leased`, lease, instances: 4 }
      const exact = { algorithm, ...exactNumbers, name: `${algorithm}-exact` }
      let ratio = 0
      let least = part
      // Only the comparison is repeated. One over-admission fails the test.
      for (let i = 0; i < ATTEMPTS && ratio < least; i++) {
        // From the first quarter of a window to the third.
        await pause(1250 - (Date.now() % 1000))
        const reports = await loadEach([leased, exact], 20, 5)
        const [ofLeased, ofExact] = reports.map((ofProcesses) =>
          ofProcesses.flatMap(({ admissions }) => admissions),
        ) as [Admission[], Admission[]]
        expect(reports.flat().filter(({ degraded }) => degraded > 0)).toStrictEqual([])
        expect(findOverAdmission(definePolicy(leased) as RatePolicy, ofLeased)).toBeUndefined()
        expect(findOverAdmission(definePolicy(exact) as RatePolicy, ofExact)).toBeUndefined()
        const stalledMs = Math.max(...reports.flat().map((report) => report.stalledMs))
        ratio = ofLeased.length / ofExact.length
        // A process that does not run keeps its units, and checks by neither limit: then the two differ by chance.
        least = stalledMs > MAX_STALL_MS ? part - 2 * SHARE : part
        console.log(
          `${algorithm}: ${ofLeased.length} admitted with leases, ${ofExact.length} without: ${ratio.toFixed(4)}.`,
          `Longest stall: ${Math.round(stalledMs)} ms`,
        )
      }
      expect(ratio).toBeGreaterThanOrEqual(least)
    },
  )
})
