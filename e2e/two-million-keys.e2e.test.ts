import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'

const KEYS = 2_000_000
/**
 * The resident memory of Node with the default of a million keys in a memory store. A log has a list for each key; the
 * states of the other algorithms fit into a row of numbers.
 */
const MOST_MIB = 512
const MOST_MIB_OF_LOGS = 1280

const PROGRAM = fileURLToPath(new URL('./src/processes/flood-process.mjs', import.meta.url))

interface Flood {
  readonly beforeBytes: number
  readonly mostBytes: number
  readonly tookMs: number
  readonly deniedNew: number
  readonly admittedBlocked: number
}

async function flood(policy: object): Promise<Flood> {
  const child = fork(PROGRAM, [JSON.stringify(policy), String(KEYS)])
  const exit = once(child, 'exit')
  try {
    const [message] = await Promise.race([
      once(child, 'message'),
      exit.then(([code]) => Promise.reject(new Error(`the process exited with code ${code}`))),
    ])
    return message as Flood
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exit
  }
}

// Windows and rates of hours: no unit becomes available again during the flood.
const windows = { limit: 5, window: '6h', name: 'flood' }
const POLICIES = [
  { algorithm: 'fixed-window', ...windows, mostMib: MOST_MIB },
  { algorithm: 'token-bucket', capacity: 5, refillRate: '5/6h', name: 'flood', mostMib: MOST_MIB },
  { algorithm: 'sliding-window-log', ...windows, mostMib: MOST_MIB_OF_LOGS },
]

describe('two million clients at full speed in a memory store', () => {
  const floods: Flood[] = []
  it.each(POLICIES)(
    '$algorithm: memory is bounded, new clients are served, a denied client stays denied',
    async ({ mostMib, ...policy }) => {
      const seen = await flood(policy)
      floods.push(seen)
      expect(seen.deniedNew).toBe(0)
      expect(seen.admittedBlocked).toBe(0)
      expect(mib(seen.mostBytes)).toBeLessThan(mostMib)
    },
  )

  afterAll(() => {
    if (floods.length < POLICIES.length) return
    const mostMib = floods.map(({ mostBytes }) => mib(mostBytes))
    const perSecond = floods.map(({ tookMs }) => (KEYS / tookMs) * 1000)
    report({
      name: 'two-million-keys',
      place: 9,
      fault: 'two million distinct keys at full speed, memory store',
      promise: `resident memory under ${MOST_MIB} MiB (logs: ${MOST_MIB_OF_LOGS}), new clients served, a blocked client stays blocked`,
      seen:
        `at most ${highest(mostMib.slice(0, -1))} MiB (logs: ${mostMib.at(-1)}); all ${whole(KEYS)} new clients served, at least ${whole(Math.min(...perSecond))} a ` +
        `second; the blocked client never admitted`,
      figures: Object.fromEntries(
        floods.flatMap(({ mostBytes, tookMs }, i) => [
          [`${POLICIES[i]!.algorithm}, MiB`, mib(mostBytes)],
          [`${POLICIES[i]!.algorithm}, ms`, Math.round(tookMs)],
        ]),
      ),
    })
  })
})

function mib(bytes: number): number {
  return Math.round(bytes / 1024 / 1024)
}
