import type { Figures } from './figures.js'
import { makeKeys } from './keys.js'
import { percentile } from './percentile.js'
import { makeRedisContender, type RedisSubject } from './redis-contenders.js'
import type { AloneScenario } from './redis-scenarios.js'
import { setUp } from './redis-set-up.js'

/**
 * How long a check waits when nothing else is in flight, and that against the yardstick. The two take turns
 * of a few milliseconds, each on a connection of its own: whatever else the machine does meanwhile, it does
 * to both. Measured one after the other, they differ more than the bound that they are held to.
 */
export async function measureAlone(
  contender: string,
  url: string,
  { keys: count, yardstick, checks, turns }: AloneScenario,
): Promise<Figures> {
  const keys = makeKeys(count)
  const own = turnsOf(await makeRedisContender(contender, url), keys, checks, turns)
  // Other keys than its own, if it should meet itself.
  const other = turnsOf(
    await makeRedisContender(yardstick, url),
    keys.map((key) => `yardstick:${key}`),
    checks,
    turns,
  )
  for (const one of [own, other]) await one.setUp()
  globalThis.gc?.()
  let cpuUs = 0
  for (let turn = 0; turn < turns; turn++) {
    const cpu = process.cpuUsage()
    await own.take(turn)
    const { user, system } = process.cpuUsage(cpu)
    cpuUs += user + system
    await other.take(turn)
  }
  for (const one of [own, other]) await one.close()
  return {
    cpuUs: cpuUs / own.waitsMs.length,
    p50Us: percentile(own.waitsMs, 0.5) * 1000,
    p99Us: percentile(own.waitsMs, 0.99) * 1000,
    p50ToYardstick: percentile(own.waitsMs, 0.5) / percentile(other.waitsMs, 0.5),
  }
}

/** The engine compiles what it has run some thousand times; in a server that has run for a while it has done so. */
const WARM_UP_TURNS = 100

function turnsOf(subject: RedisSubject, keys: readonly string[], checks: number, turns: number) {
  const waitsMs = new Float64Array(checks * turns)

  async function take(turn: number): Promise<void> {
    for (let i = turn * checks; i < (turn + 1) * checks; i++) {
      const key = keys[Math.floor(Math.random() * keys.length)]!
      const sent = performance.now()
      const answer = await subject.check(key)
      waitsMs[i] = performance.now() - sent
      if (!subject.isAllowed(answer)) throw new Error(`A check of "${key}" was refused.`)
    }
  }

  return {
    waitsMs,
    take,
    async setUp(): Promise<void> {
      await setUp(subject, keys)
      for (let turn = 0; turn < WARM_UP_TURNS; turn++) await take(turn)
    },
    close: () => subject.close(),
  }
}
