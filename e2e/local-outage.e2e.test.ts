import { fixedWindow } from '@tidegate/core'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { highest, report, whole } from './src/figures.js'
import { type Check, phasesOf, verify } from './src/history/history.js'
import { BACK_WITHIN_MS, endOf, LOST_AGAIN_MS, lostAgainMs } from './src/outage.js'
import { type LimiterProcess, startLimiter } from './src/processes/limiter-process.js'
import { nowMs } from './src/wall-clock.js'

const PROCESSES = 3
const options = { algorithm: 'fixed-window', limit: 90, window: '1s', name: 'shared' } as const
const local = { ...options, onStoreFailure: 'local', instances: PROCESSES } as const

let redis: RedisServer
let processes: LimiterProcess[] = []
beforeEach(async () => {
  redis = await startRedis()
  processes = await Promise.all(Array.from({ length: PROCESSES }, () => startLimiter(redis.url, local)))
})
afterEach(async () => {
  for (const one of processes) await one.stop()
  await redis?.stop()
})

it('`local` without Redis: each process keeps its share of the limit, and then all keep the shared one', async () => {
  for (const one of processes) one.load(800)
  await pause(2500)
  const killedMs = nowMs()
  await redis.kill()
  await pause(5000)
  await redis.restart()
  const restartedMs = nowMs()
  await pause(4000)
  const histories = await Promise.all(processes.map((one) => one.stopLoad()))

  const all = histories.flat()
  const lost = all.filter(({ degraded }) => degraded !== undefined)
  const whole_ = fixedWindow({ limit: options.limit, window: options.window })
  const share = fixedWindow({ limit: options.limit / PROCESSES, window: options.window })
  const phases = histories.map((history) => phasesOf(history))
  const backAfterMs = highest(phases.map((own) => endOf(own, restartedMs))) - restartedMs
  const lostAgain = phases.reduce((sum, own) => sum + lostAgainMs(own, restartedMs), 0)
  const perWindow = histories.map((history) => mostInAWindow(history.filter(isLocal)))
  report({
    name: 'local-outage',
    place: 7,
    fault: '`local` with Redis down',
    promise: 'at most the limit per process, then back to the shared count',
    seen:
      `${PROCESSES} processes, ${whole(all.length)} checks, ${whole(lost.length)} of them counted locally: at most ` +
      `${highest(perWindow)} of ${share.limit} per process and window; the shared limit of ${options.limit} again ` +
      `${whole(Math.max(0, backAfterMs))} ms after the restart`,
    figures: {
      checks: all.length,
      lost: lost.length,
      backAfterMs,
      lostAgainMs: lostAgain,
      mostInAWindow: highest(perWindow),
    },
  })

  expect([...new Set(lost.map(({ degraded }) => degraded))]).toStrictEqual(['local'])
  expect(lost.length).toBeGreaterThan(5000)
  // The decisions of Redis keep the limit, and the local decisions keep the share of each process.
  expect(verify(all, whole_, { resetAtMs: [killedMs] }).violations).toStrictEqual([])
  for (const history of histories) {
    const counted = history.filter(isLocal).map((check) => ({ ...check, degraded: undefined }))
    expect(verify(counted, share).violations).toStrictEqual([])
  }
  // The shares were used up, and so was the shared limit afterwards.
  expect(perWindow).toStrictEqual(histories.map(() => share.limit))
  const after = all.filter(({ startMs, degraded }) => startMs > restartedMs + 2000 && degraded === undefined)
  expect(mostInAWindow(after)).toBe(options.limit)
  expect(backAfterMs).toBeLessThanOrEqual(BACK_WITHIN_MS)
  expect(lostAgain).toBeLessThanOrEqual(LOST_AGAIN_MS)
})

function isLocal({ degraded }: Check): boolean {
  return degraded === 'local'
}

/** The most that one key was admitted in a window, by the time of the decisions. */
function mostInAWindow(checks: readonly Check[]): number {
  const counts = new Map<string, number>()
  for (const { key, atMs, allowed } of checks) {
    const window = `${key} ${Math.floor(atMs! / 1000)}`
    if (allowed) counts.set(window, (counts.get(window) ?? 0) + 1)
  }
  return highest([...counts.values()])
}
