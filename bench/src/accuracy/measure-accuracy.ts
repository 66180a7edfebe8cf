import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createLimiter, ManualClock, MemoryStore } from '@tidegate/core'
import { startRedis } from '@tidegate/fixtures/redis-server'
import { countCommands } from '../redis/command-stats.js'
import { connectToServer } from '../redis/connect.js'
import type { Figures } from '../report/figures.js'
import type { Seen } from './accuracy-child.js'
import { accuracyContender } from './accuracy-contenders.js'
import { type AccuracyScenario, accuracyScenarioNamed } from './accuracy-scenarios.js'
import { fullestInterval } from './fullest-interval.js'

const CHILD = new URL('./accuracy-child.js', import.meta.url)
const WINDOW_MS = 1000

/** The units that several processes admit together, compared with those that the algorithm allows. */
export async function measureAccuracy(name: string, contender: string): Promise<Figures> {
  const scenario = accuracyScenarioNamed(name)
  const server = await startRedis()
  const children = Array.from({ length: scenario.processes }, () =>
    fork(CHILD, [name, contender, server.url]),
  )
  try {
    await Promise.all(children.map((child) => messageOf(child)))
    const client = await connectToServer(server.url)
    let seen: Seen[] = []
    const counted = await countCommands(client, async () => {
      // Windows are aligned: the load begins with one.
      const startMs = (Math.floor(Date.now() / WINDOW_MS) + 2) * WINDOW_MS
      for (const child of children) child.send(startMs)
      seen = await Promise.all(children.map((child) => messageOf(child) as Promise<Seen>))
    })
    client.disconnect()
    return figuresOf(seen, scenario, contender, counted('evalsha').calls + counted('eval').calls)
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await server.stop()
  }
}

function figuresOf(
  seen: readonly Seen[],
  scenario: AccuracyScenario,
  contender: string,
  calls: number,
): Figures {
  const admitted = seen.flatMap((one) => one.admitted)
  const checksMs = seen.flatMap((one) => one.checksMs)
  const allowed = allowedBy(contender, scenario, checksMs)
  return {
    admitted: admitted.length,
    allowed,
    differencePercent: 100 * (admitted.length / allowed - 1),
    fullestToLimit: fullestInterval(admitted, WINDOW_MS) / scenario.limit,
    callsPerCheck: calls / checksMs.length,
    cpuUs: seen.reduce((sum, one) => sum + one.cpuUs, 0) / checksMs.length,
  }
}

/** The units that the algorithm admits if one process makes the same checks at the same times. */
function allowedBy(contender: string, { limit }: AccuracyScenario, checksMs: readonly number[]): number {
  const clock = new ManualClock()
  const policy = accuracyContender(contender).policyOf(limit)
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock }) })
  let admitted = 0
  for (const ms of checksMs.toSorted((a, b) => a - b)) {
    clock.set(ms)
    if (limiter.check('everyone').allowed) admitted++
  }
  return admitted
}

async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`A process of the load exited with code ${code}; see its error above.`)
  })
  const [message] = await Promise.race([once(child, 'message'), ended])
  return message
}
