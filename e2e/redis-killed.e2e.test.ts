import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { pause } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, it } from 'vitest'
import { type BothLoads, startBothLoads } from './src/both-loads.js'
import { report } from './src/figures.js'
import { expectAnswers, figuresOf, inWords } from './src/outage.js'
import { nowMs } from './src/wall-clock.js'

let redis: RedisServer
let loads: BothLoads
beforeEach(async () => {
  redis = await startRedis()
  loads = await startBothLoads(redis.url)
})
afterEach(async () => {
  await loads?.close()
  await redis?.stop()
})

it('Redis that is killed and restarted: every check is decided in time, and limits are exact within 2 s', async () => {
  await pause(2000)
  const killedMs = nowMs()
  await redis.kill()
  await pause(5000)
  await redis.restart()
  const backMs = nowMs()
  await pause(4000)
  await loads.stop()

  // The server keeps nothing on disk, so counts start at 0 after the kill.
  const outage = { backMs, resetAtMs: [killedMs] }
  const figures = figuresOf(loads, outage)
  report({
    name: 'redis-killed',
    place: 1,
    fault: 'Redis killed with SIGKILL, restarted after 5 s',
    promise: 'no 5xx, no check over 100 ms on `open`; exact limits within 2 s of the restart',
    seen: inWords(figures),
    figures,
  })
  expectAnswers(loads, outage)
})
