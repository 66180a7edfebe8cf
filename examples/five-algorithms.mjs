// Two traffic patterns with all five algorithms. The clock is a ManualClock: nothing waits, and every run prints the same
// numbers. After npm run build:
//   node examples/five-algorithms.mjs
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  ManualClock,
  MemoryStore,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'

/** @param {string} time */
const at = (time) => Date.parse(`2030-01-01T${time}Z`)

const patterns = [
  {
    title: 'A burst on each side of the hour: 100 at 09:59:50, 100 at 10:00:10, limit 100 per hour',
    policies: fivePolicies(100, '1h'),
    arrivals: [...Array(100).fill(at('09:59:50')), ...Array(100).fill(at('10:00:10'))],
  },
  {
    title: 'A steady client: one request every 100 ms for 3 s, limit 10 per second',
    policies: fivePolicies(10, '1s'),
    arrivals: Array.from({ length: 30 }, (_, i) => at('10:00:00') + i * 100),
  },
]

for (const { title, policies, arrivals } of patterns) {
  const rows = policies.map((policy) => resultsOf(policy, arrivals))
  print(title, [['algorithm', 'allowed', 'denied', 'worst retryAfter'], ...rows])
}

console.log(`${bold('What to try next')}
  Move the first burst to 09:30:00. Only the two buckets then allow more of the second burst. Why?
  Let the steady client send a request every 50 ms. Which algorithm allows the most, and which has the shortest wait?
  docs/users/algorithms.md helps to choose one, and README.md shows how to use it.`)

/**
 * The same limit as a policy of each algorithm.
 * @param {number} limit
 * @param {'1h' | '1s'} window
 */
function fivePolicies(limit, window) {
  return [
    fixedWindow({ limit, window }),
    slidingWindowLog({ limit, window }),
    slidingWindowCounter({ limit, window }),
    tokenBucket({ capacity: limit, refillRate: `${limit}/${window}` }),
    leakyBucket({ capacity: limit, leakRate: `${limit}/${window}` }),
  ]
}

/**
 * One row of the table: the decisions of a policy for these arrivals.
 * @param {import('@tidegate/core').Policy} policy
 * @param {number[]} arrivals
 */
function resultsOf(policy, arrivals) {
  const clock = new ManualClock()
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
  const decisions = arrivals.map((timeMs) => {
    clock.set(timeMs)
    return limiter.check('user:1')
  })
  const denied = decisions.filter((decision) => !decision.allowed)
  const worstMs = Math.max(0, ...denied.map((decision) => decision.retryAfterMs))
  const wait = denied.length === 0 ? '-' : `${(worstMs / 1000).toFixed(6)} s`
  return [policy.algorithm, `${decisions.length - denied.length}`, `${denied.length}`, wait]
}

/**
 * @param {string} title
 * @param {string[][]} rows the first is the heading
 */
function print(title, rows) {
  const width = (/** @type {number} */ i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))
  const lines = rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(width(i)) : cell.padStart(width(i)))).join('   '),
  )
  console.log(`${bold(title)}\n\n${lines.map((line) => `  ${line}\n`).join('')}`)
}

/** @param {string} text */
function bold(text) {
  return process.stdout.isTTY ? `\x1b[1m${text}\x1b[22m` : text
}
