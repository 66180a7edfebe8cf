import { expect, it } from 'vitest'
import { useRedisChildren } from './redis-children.js'

// Four processes on a real Redis with a limit that is never reached. Speeds are only printed, because the benchmark tests
// them; the number of store calls does not depend on the machine.

const PROCESSES = 4
const KEYS = 50_000
const EXPONENT = 1.1
/** The fraction of checks of the hot key. */
const HOT_SHARE = 0.97
const MAX_AGE_MS = 100
/** A key is cold if a process checks it less often than this within `maxAge`. */
const COLD_CHECKS = 0.05
const LIMIT = { algorithm: 'fixed-window', limit: 1_000_000_000, window: '1h', instances: PROCESSES }

interface Report {
  checks: number[]
  calls: number[]
  undecided: number
  seconds: number
}

const run = useRedisChildren<object, Report>(new URL('./zipf-process.mjs', import.meta.url), PROCESSES)
let policies = 0

/** Lets all processes check as fast as possible. Returns the sums over all processes, for each key. */
async function load(hotShare: number, lease: boolean, durationMs: number) {
  const options = { ...LIMIT, name: `p${++policies}`, ...(lease && { lease: { maxAge: `${MAX_AGE_MS}ms` } }) }
  const task = { options, keys: KEYS, exponent: EXPONENT, hotShare, durationMs, workers: 32 }
  const reports = await run(task)
  expect(reports.map(({ undecided }) => undecided)).toStrictEqual(Array(PROCESSES).fill(0))
  const sumOf = (field: 'checks' | 'calls') =>
    Array.from({ length: KEYS + 1 }, (_, k) => reports.reduce((sum, report) => sum + report[field][k]!, 0))
  const perSecond = reports.reduce((sum, report) => sum + total(report.checks) / report.seconds, 0)
  return { checks: sumOf('checks'), calls: sumOf('calls'), perSecond }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

function whole(number: number): string {
  return Math.round(number).toLocaleString('en')
}

it.each([
  ['one hot key', 1],
  ['one hot key among Zipf keys', HOT_SHARE],
])('%s: at most 0.05 store calls per check, 1.0 ± 0.01 for cold keys', async (title, hotShare) => {
  const exact = await load(hotShare, false, 1500)
  const leased = await load(hotShare, true, hotShare === 1 ? 1500 : 3500)
  const { checks, calls } = leased
  const hot = calls[0]! / checks[0]!
  console.log(
    `${title}: ${whole(exact.perSecond)} checks/s without leases, ${whole(leased.perSecond)} with leases,`,
    `${(leased.perSecond / exact.perSecond).toFixed(1)} x; store calls per check: hot key ${hot.toFixed(4)}`,
  )
  expect(hot).toBeLessThanOrEqual(0.05)
  if (hotShare === 1) return

  // By the expected number of checks, not by the number that a key happened to get.
  const zipfPerSecond = (leased.perSecond / PROCESSES) * (1 - hotShare)
  const weights = checks.map((_, k) => (k === 0 ? 0 : 1 / k ** EXPONENT))
  const perWeight = (zipfPerSecond * MAX_AGE_MS) / 1000 / total(weights)
  const firstCold = weights.findIndex((weight, k) => k > 0 && weight * perWeight < COLD_CHECKS)
  const coldChecks = total(checks.slice(firstCold))
  const cold = total(calls.slice(firstCold)) / coldChecks
  console.log(`${title}: ${whole(coldChecks)} checks of cold keys, store calls per check: ${cold.toFixed(4)}`)
  expect(coldChecks).toBeGreaterThan(500)
  expect(Math.abs(cold - 1)).toBeLessThanOrEqual(0.01)
})
