import type { Figures } from './figures.js'
import { makeKeys } from './keys.js'
import { percentile } from './percentile.js'
import { makeRedisContender, type RedisSubject } from './redis-contenders.js'
import type { LoadScenario } from './redis-scenarios.js'
import { setUp } from './redis-set-up.js'

/** Checks per second, what one costs this process, and how long one waits. */
export async function measureLoad(
  contender: string,
  url: string,
  { keys: count, inFlight, checks }: LoadScenario,
): Promise<Figures> {
  const subject = await makeRedisContender(contender, url)
  const keys = makeKeys(count)
  await setUp(subject, keys)
  await run(subject, keys, inFlight, WARM_UP)
  globalThis.gc?.()

  const cpu = process.cpuUsage()
  const start = performance.now()
  const waitsMs = await run(subject, keys, inFlight, checks)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  await subject.close()
  return {
    perSecond: checks / seconds,
    cpuUs: (user + system) / checks,
    p50Us: percentile(waitsMs, 0.5) * 1000,
    p99Us: percentile(waitsMs, 0.99) * 1000,
  }
}

const WARM_UP = 20_000

/** So many checks of random keys, so many at a time. The wait of each, in milliseconds. */
async function run(
  subject: RedisSubject,
  keys: readonly string[],
  inFlight: number,
  checks: number,
): Promise<Float64Array> {
  const waitsMs = new Float64Array(checks)
  let next = 0
  let allowed = 0
  async function caller(): Promise<void> {
    while (next < checks) {
      const i = next++
      const key = keys[Math.floor(Math.random() * keys.length)]!
      const sent = performance.now()
      const answer = await subject.check(key)
      waitsMs[i] = performance.now() - sent
      if (subject.isAllowed(answer)) allowed++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  if (allowed !== checks) throw new Error(`${checks} checks were timed, but ${allowed} were allowed.`)
  return waitsMs
}
