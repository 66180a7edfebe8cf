import type { Figures } from './figures.js'
import { makeKeys } from './keys.js'
import { connectToServer } from './redis-connect.js'
import { makeRedisContender, type RedisSubject } from './redis-contenders.js'
import type { FloodScenario } from './redis-scenarios.js'
import { countCommands } from './redis-stats.js'

/** Refusals per second, what one costs this process, and how much of it the server heard. */
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
  let refused = 0
  let cpuUs = 0
  const start = performance.now()
  const counted = await countCommands(server, async () => {
    const cpu = process.cpuUsage()
    refused = await flood(subject, keys, inFlight, seconds)
    const { user, system } = process.cpuUsage(cpu)
    cpuUs = user + system
  })
  const passed = (performance.now() - start) / 1000
  server.disconnect()
  await subject.close()
  return {
    perSecond: refused / passed,
    cpuUs: cpuUs / refused,
    callsPerKeyAndSecond: counted('evalsha').calls / count / passed,
    // Our bucket reads its state once for each check, and one call has many checks in it.
    ...(contender.startsWith('token bucket')
      ? { checksPerKeyAndSecond: counted('get').calls / count / passed }
      : {}),
  }
}

const WARM_UP_SECONDS = 0.5
/** In a server, checks come with the turns of the event loop; answers from memory alone would never let it turn. */
const CHECKS_PER_TURN = 64

/** Takes the one unit that each key has. */
async function exhaust(subject: RedisSubject, keys: readonly string[]): Promise<void> {
  const first = await Promise.all(keys.map((key) => isRefused(subject, key)))
  const second = await Promise.all(keys.map((key) => isRefused(subject, key)))
  if (first.every((refused) => !refused) && second.every((refused) => refused)) return
  throw new Error('Set-up: the first check of each key should be allowed, and the second refused.')
}

/** Checks random keys for so long, so many at a time. How many were refused. */
async function flood(
  subject: RedisSubject,
  keys: readonly string[],
  inFlight: number,
  seconds: number,
): Promise<number> {
  const end = performance.now() + seconds * 1000
  let refused = 0
  let allowed = 0
  async function caller(): Promise<void> {
    while (performance.now() < end) {
      for (let i = 0; i < CHECKS_PER_TURN; i++) {
        const key = keys[Math.floor(Math.random() * keys.length)]!
        // Not isRefused(): one promise more would be a good part of an answer from memory.
        try {
          if (subject.isAllowed(await subject.check(key))) allowed++
          else refused++
        } catch (thrown) {
          if (!subject.isRefusal?.(thrown)) throw thrown
          refused++
        }
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, caller))
  if (allowed > 0) throw new Error(`The keys had nothing left, but ${allowed} checks were allowed.`)
  return refused
}

async function isRefused(subject: RedisSubject, key: string): Promise<boolean> {
  try {
    return !subject.isAllowed(await subject.check(key))
  } catch (thrown) {
    if (subject.isRefusal?.(thrown)) return true
    throw thrown
  }
}
