import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import autocannon from 'autocannon'
import { type Figures, median } from './figures.js'
import { httpScenarioNamed, LOAD } from './http-scenarios.js'
import type { Served } from './http-server.js'
import { LOAD_CORE, stayOnCore } from './one-core.js'

/*
 * Puts load on one contender and on the bare framework, which are both in a process of their own, by turns: a
 * machine that is slow for a second is slow for both. Arguments: scenario, contender, the URL of Redis. Sends
 * what a request costs that process.
 */

stayOnCore(LOAD_CORE)
const [scenarioName = '', contender = '', redisUrl = ''] = process.argv.slice(2)
const { bare } = httpScenarioNamed(scenarioName)
const [BARE, LIMITED] = [0, 1]

const server = fork(new URL('./http-server.js', import.meta.url), [redisUrl, bare, contender], {
  execArgv: [],
})
server.once('exit', (code) => {
  throw new Error(`The server of "${contender}" ended with code ${code}; its reason is above.`)
})
const [ports] = (await once(server, 'message')) as [number[]]
const figures = await measure()
server.removeAllListeners('exit')
server.disconnect()
process.send?.(figures, () => process.exit(0))

async function measure(): Promise<Figures> {
  const before = { left: await remaining(LIMITED), asked: (await served(server)).requests[LIMITED]! }
  if (before.left === undefined || (await remaining(BARE)) !== undefined) {
    throw new Error(`${contender} should say what is left, and ${bare} should not.`)
  }
  for (const one of [BARE, LIMITED]) await turn(one, LOAD.warmUpRequests)
  const turns: { bare: Turn; limited: Turn }[] = []
  for (let i = 0; i < LOAD.turns; i++) {
    // By turns in turn: what gets slower or faster with time does so for both.
    if (i % 2 === 0) turns.push({ bare: await turn(BARE), limited: await turn(LIMITED) })
    else turns.push({ limited: await turn(LIMITED), bare: await turn(BARE) })
  }
  const counted = before.left - ((await remaining(LIMITED)) ?? 0)
  const asked = (await served(server)).requests[LIMITED]! - before.asked
  if (counted !== asked) throw new Error(`${contender} was asked ${asked} times and counted ${counted}.`)
  return {
    bareUs: median(turns.map((one) => one.bare.cpuUs)),
    cpuUs: median(turns.map((one) => one.limited.cpuUs)),
    addedUs: median(turns.map((one) => one.limited.cpuUs - one.bare.cpuUs)),
    perSecond: median(turns.map((one) => one.limited.perSecond)),
  }
}

interface Turn {
  cpuUs: number
  perSecond: number
}

async function turn(which: number, amount: number = LOAD.requests): Promise<Turn> {
  const { connections, pipelining } = LOAD
  const before = await served(server)
  const start = performance.now()
  // It looks whether it is done at every sample.
  const result = await autocannon({ url: urlOf(which), connections, pipelining, amount, sampleInt: 5 })
  const seconds = (performance.now() - start) / 1000
  const after = await served(server)
  // Not the amount: it counts some of the last answers no more.
  const requests = after.requests[which]! - before.requests[which]!
  if (result.errors > 0 || result.non2xx > 0 || requests < amount / 2) {
    const { errors, non2xx } = result
    throw new Error(
      `${contender}: of ${amount} requests ${requests} came; ${errors} failed, ${non2xx} refused.`,
    )
  }
  return { cpuUs: (after.cpuUs - before.cpuUs) / requests, perSecond: requests / seconds }
}

async function served(by: ChildProcess): Promise<Served> {
  by.send('served?')
  const [answer] = (await once(by, 'message')) as [Served]
  return answer
}

/** What it says is left; asking takes one. */
async function remaining(which: number): Promise<number | undefined> {
  const response = await fetch(urlOf(which))
  await response.arrayBuffer()
  const left = response.headers.get('x-ratelimit-remaining')
  return left === null ? undefined : Number(left)
}

function urlOf(which: number): string {
  return `http://127.0.0.1:${ports[which]}/`
}
