import { makeRedisContender } from './redis-contenders.js'

/*
 * One contender against one server, in a process of its own. Arguments: contender, port, in flight.
 * Sends checks per second, client CPU per check, and the waits of single checks.
 */

const KEYS = 10_000
const WARM_UP = 20_000
const CHECKS = 200_000

const [contender = '', port = '', inFlight = ''] = process.argv.slice(2)
const subject = makeRedisContender(contender, Number(port))
const keys = Array.from({ length: KEYS }, (_, i) => `user:${i}`)
const callers = Number(inFlight)
const checks = callers === 1 ? 20_000 : CHECKS

await checkSetUp()
await run(WARM_UP)
const cpu = process.cpuUsage()
const start = performance.now()
const waits = await run(checks)
const seconds = (performance.now() - start) / 1000
const { user, system } = process.cpuUsage(cpu)
waits.sort()
await subject.close()
process.send?.(
  {
    perSecond: checks / seconds,
    cpuUs: (user + system) / checks,
    p50Us: waits[Math.floor(checks * 0.5)]! * 1000,
    p99Us: waits[Math.floor(checks * 0.99)]! * 1000,
  },
  () => process.exit(0),
)

/** Every key once: each must be counted, and by itself. */
async function checkSetUp(): Promise<void> {
  const used = await Promise.all(keys.map((key) => subject.check(key)))
  const wrong = used.findIndex((count) => count !== 1)
  if (wrong >= 0)
    throw new Error(`${contender}: ${keys[wrong]} should have used 1 unit, it says ${used[wrong]}.`)
}

/** So many checks over random keys, `callers` at a time. The wait of each, in milliseconds. */
async function run(count: number): Promise<Float64Array> {
  const waits = new Float64Array(count)
  let next = 0
  async function caller(): Promise<void> {
    while (next < count) {
      const i = next++
      const sent = performance.now()
      const used = await subject.check(keys[Math.floor(Math.random() * KEYS)]!)
      waits[i] = performance.now() - sent
      if (!(used >= 1)) throw new Error(`${contender} answered ${used}.`)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return waits
}
