import { makeKeys } from '../load/keys.js'
import { percentile } from '../load/percentile.js'
import { type Figures, median } from '../report/figures.js'
import { countCommands } from './command-stats.js'
import { connectToServer } from './connect.js'
import { makeRedisContender, type RedisSubject } from './redis-contenders.js'
import type { LoadScenario } from './redis-scenarios.js'
import { setUp } from './redis-set-up.js'

/**
 * Checks per second, client and server time per check, and latency. The contender and the libraries that it is compared
 * with take turns of a fraction of a second, each on its own connection, so that noise of the machine affects all of them.
 */
export async function measureLoad(contender: string, url: string, scenario: LoadScenario): Promise<Figures> {
  const { keys: count, inFlight, checks, turns, topology, comparedWith } = scenario
  const keys = makeKeys(count)
  // The libraries have their own keys, in case that one of them is the contender.
  const libraryKeys = keys.map((key) => `library:${key}`)
  const subject = await prepared(contender, url, keys, inFlight)
  const libraries: RedisSubject[] = []
  for (const name of comparedWith) libraries.push(await prepared(name, url, libraryKeys, inFlight))
  const server = topology === 'server' ? await connectToServer(url) : undefined
  globalThis.gc?.()

  const own: Turn[] = []
  const ratios: number[] = []
  let serverUs = 0
  for (let turn = 0; turn < turns; turn++) {
    const take = async () => void own.push(await run(subject, keys, inFlight, checks))
    if (server === undefined) await take()
    else serverUs += (await countCommands(server, take))('evalsha').us
    let fastest = Number.NaN
    for (const library of libraries) {
      const { perSecond } = await run(library, libraryKeys, inFlight, checks)
      fastest = fastest > perSecond ? fastest : perSecond
    }
    ratios.push(own[turn]!.perSecond / fastest)
  }
  server?.disconnect()
  for (const one of [subject, ...libraries]) await one.close()
  const latenciesMs = Float64Array.from(own.flatMap((turn) => [...turn.latenciesMs]))
  return {
    perSecond: median(own.map(({ perSecond }) => perSecond)),
    perSecondToBaseline: median(ratios),
    cpuUs: median(own.map(({ cpuUs }) => cpuUs)),
    p50Us: percentile(latenciesMs, 0.5) * 1000,
    p99Us: percentile(latenciesMs, 0.99) * 1000,
    ...(server === undefined ? {} : { serverUs: serverUs / (checks * turns) }),
  }
}

async function prepared(
  contender: string,
  url: string,
  keys: readonly string[],
  inFlight: number,
): Promise<RedisSubject> {
  const subject = await makeRedisContender(contender, url)
  await setUp(subject, keys)
  await run(subject, keys, inFlight, WARM_UP)
  return subject
}

const WARM_UP = 20_000

interface Turn {
  perSecond: number
  /** Per check. */
  cpuUs: number
  latenciesMs: Float64Array
}

/** Checks random keys, `inFlight` at a time. */
async function run(
  subject: RedisSubject,
  keys: readonly string[],
  inFlight: number,
  checks: number,
): Promise<Turn> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  const latenciesMs = new Float64Array(checks)
  let next = 0
  let allowed = 0
  async function caller(): Promise<void> {
    while (next < checks) {
      const i = next++
      const key = keys[Math.floor(Math.random() * keys.length)]!
      const sent = performance.now()
      const result = await subject.check(key)
      latenciesMs[i] = performance.now() - sent
      if (subject.isAllowed(result)) allowed++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  if (allowed !== checks) throw new Error(`${checks} checks were timed, ${allowed} of them allowed.`)
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (performance.now() - start) / 1000
  return { perSecond: checks / seconds, cpuUs: (user + system) / checks, latenciesMs }
}
