import { makeKeys } from '../load/keys.js'
import { percentile } from '../load/percentile.js'
import type { Figures } from '../report/figures.js'
import { makeRedisContender, type RedisSubject } from './redis-contenders.js'
import type { AloneScenario } from './redis-scenarios.js'
import { setUp } from './redis-set-up.js'

/**
 * The latency of a check with nothing else in flight, and its ratio to the baseline. The two take turns of a few
 * milliseconds, each on its own connection, so that noise of the machine affects both.
 */
export async function measureAlone(
  contender: string,
  url: string,
  { keys: count, baseline, checks, turns }: AloneScenario,
): Promise<Figures> {
  const keys = makeKeys(count)
  // The baseline has its own keys, in case that both are the same contender.
  const baselineKeys = keys.map((key) => `baseline:${key}`)
  const measured = turnsOf(await makeRedisContender(contender, url), keys, checks, turns)
  const base = turnsOf(await makeRedisContender(baseline, url), baselineKeys, checks, turns)
  for (const one of [measured, base]) await one.setUp()
  globalThis.gc?.()
  let cpuUs = 0
  for (let turn = 0; turn < turns; turn++) {
    const cpu = process.cpuUsage()
    await measured.take(turn)
    const { user, system } = process.cpuUsage(cpu)
    cpuUs += user + system
    await base.take(turn)
  }
  for (const one of [measured, base]) await one.close()
  const p50Ms = percentile(measured.latenciesMs, 0.5)
  return {
    cpuUs: cpuUs / measured.latenciesMs.length,
    p50Us: p50Ms * 1000,
    p99Us: percentile(measured.latenciesMs, 0.99) * 1000,
    p50ToBaseline: p50Ms / percentile(base.latenciesMs, 0.5),
  }
}

/** The engine optimizes code after some thousand calls. */
const WARM_UP_TURNS = 100

function turnsOf(subject: RedisSubject, keys: readonly string[], checks: number, turns: number) {
  const latenciesMs = new Float64Array(checks * turns)

  async function take(turn: number): Promise<void> {
    for (let i = turn * checks; i < (turn + 1) * checks; i++) {
      const key = keys[Math.floor(Math.random() * keys.length)]!
      const sent = performance.now()
      const result = await subject.check(key)
      latenciesMs[i] = performance.now() - sent
      if (!subject.isAllowed(result)) throw new Error(`A check of "${key}" was denied.`)
    }
  }

  return {
    latenciesMs,
    take,
    async setUp(): Promise<void> {
      await setUp(subject, keys)
      for (let turn = 0; turn < WARM_UP_TURNS; turn++) await take(turn)
    },
    close: () => subject.close(),
  }
}
