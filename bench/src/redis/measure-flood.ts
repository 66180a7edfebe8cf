import { makeKeys } from '../load/keys.js'
import type { Figures } from '../report/figures.js'
import { countCommands } from './command-stats.js'
import { connectToServer } from './connect.js'
import { makeRedisContender, type RedisSubject } from './redis-contenders.js'
import type { FloodScenario } from './redis-scenarios.js'

/** Denials per second, client time per denial, and the load on the server. */
export async function measureFlood(
  contender: string,
  url: string,
  { keys: count, inFlight, seconds }: FloodScenario,
): Promise<Figures> {
  const subject = await makeRedisContender(contender, url, 1)
  const keys = makeKeys(count)
  await exhaust(subject, keys)
  await flood(subject, keys, inFlight, WARM_UP_SECONDS)

  const server = await connectToServer(url)
  let denied = 0
  let cpuUs = 0
  const start = performance.now()
  const counted = await countCommands(server, async () => {
    const cpu = process.cpuUsage()
    denied = await flood(subject, keys, inFlight, seconds)
    const { user, system } = process.cpuUsage(cpu)
    cpuUs = user + system
  })
  const passed = (performance.now() - start) / 1000
  server.disconnect()
  await subject.close()
  return {
    perSecond: denied / passed,
    cpuUs: cpuUs / denied,
    callsPerKeyAndSecond: counted('evalsha').calls / count / passed,
    // The bucket reads its state once per check; one script call holds many checks.
    ...(contender.startsWith('token bucket')
      ? { checksPerKeyAndSecond: counted('get').calls / count / passed }
      : {}),
  }
}

const WARM_UP_SECONDS = 0.5
/** In a server, checks arrive with the turns of the event loop. Denials from memory alone would never yield to it. */
const CHECKS_PER_TURN = 64

/** Uses the single unit of each key. */
async function exhaust(subject: RedisSubject, keys: readonly string[]): Promise<void> {
  const first = await Promise.all(keys.map((key) => isDenied(subject, key)))
  const second = await Promise.all(keys.map((key) => isDenied(subject, key)))
  if (first.every((denied) => !denied) && second.every((denied) => denied)) return
  throw new Error('Set-up: the first check of each key must be allowed and the second denied.')
}

/** Checks random keys, `inFlight` at a time. Returns the number of denials. */
async function flood(
  subject: RedisSubject,
  keys: readonly string[],
  inFlight: number,
  seconds: number,
): Promise<number> {
  const end = performance.now() + seconds * 1000
  let denied = 0
  let allowed = 0
  async function caller(): Promise<void> {
    while (performance.now() < end) {
      for (let i = 0; i < CHECKS_PER_TURN; i++) {
        const key = keys[Math.floor(Math.random() * keys.length)]!
        // Not isDenied(): another promise would take a large part of the time of a denial from memory.
        try {
          if (subject.isAllowed(await subject.check(key))) allowed++
          else denied++
        } catch (thrown) {
          if (!subject.isDenial?.(thrown)) throw thrown
          denied++
        }
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  if (allowed > 0) throw new Error(`Every key had used up its limit, but ${allowed} checks were allowed.`)
  return denied
}

async function isDenied(subject: RedisSubject, key: string): Promise<boolean> {
  try {
    return !subject.isAllowed(await subject.check(key))
  } catch (thrown) {
    if (subject.isDenial?.(thrown)) return true
    throw thrown
  }
}
