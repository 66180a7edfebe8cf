import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import autocannon from 'autocannon'
import { LOAD_CORE, pinToCore } from '../load/cpu-cores.js'
import { type Figures, median } from '../report/figures.js'
import { httpScenarioNamed, LOAD } from './http-scenarios.js'
import type { Served } from './http-server.js'

/*
 * Loads one contender and the bare framework by turns; both run in one server process, so that noise of the machine
 * affects both. Arguments: scenario, contender, URL of Redis. Sends the processor time per request of the server.
 */

pinToCore(LOAD_CORE)
const [scenarioName = '', contender = '', redisUrl = ''] = process.argv.slice(2)
const { bare } = httpScenarioNamed(scenarioName)
const [BARE, LIMITED] = [0, 1]

const server = fork(new URL('./http-server.js', import.meta.url), [redisUrl, bare, contender], {
  execArgv: [],
})
server.once('exit', (code) => {
  throw new Error(`The server of "${contender}" exited with code ${code}; see its error above.`)
})
const [ports] = (await once(server, 'message')) as [number[]]
const figures = await measure()
server.removeAllListeners('exit')
server.disconnect()
process.send?.(figures, () => process.exit(0))

async function measure(): Promise<Figures> {
  const before = { left: await remaining(LIMITED), requests: (await served(server)).requests[LIMITED]! }
  if (before.left === undefined || (await remaining(BARE)) !== undefined) {
    throw new Error(`${contender} must send x-ratelimit-remaining, and ${bare} must not.`)
  }
  for (const one of [BARE, LIMITED]) await turn(one, LOAD.warmUpRequests)
  const turns: { bare: Turn; limited: Turn }[] = []
  for (let i = 0; i < LOAD.turns; i++) {
    // The order alternates, so that a trend affects both.
    if (i % 2 === 0) turns.push({ bare: await turn(BARE), limited: await turn(LIMITED) })
    else turns.push({ limited: await turn(LIMITED), bare: await turn(BARE) })
  }
  const counted = before.left - ((await remaining(LIMITED)) ?? 0)
  const requests = (await served(server)).requests[LIMITED]! - before.requests
  if (counted !== requests) throw new Error(`${contender} got ${requests} requests and counted ${counted}.`)
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
  // autocannon checks at every sample whether it is done.
  const result = await autocannon({ url: urlOf(which), connections, pipelining, amount, sampleInt: 5 })
  const seconds = (performance.now() - start) / 1000
  const after = await served(server)
  // Counted by the server: autocannon does not count some of the last responses.
  const requests = after.requests[which]! - before.requests[which]!
  if (result.errors > 0 || result.non2xx > 0 || requests < amount / 2) {
    const { errors, non2xx } = result
    throw new Error(
      `${contender}: ${requests} of ${amount} requests arrived, ${errors} failed, ${non2xx} were not 2xx.`,
    )
  }
  return { cpuUs: (after.cpuUs - before.cpuUs) / requests, perSecond: requests / seconds }
}

async function served(by: ChildProcess): Promise<Served> {
  by.send('served?')
  const [result] = (await once(by, 'message')) as [Served]
  return result
}

/** The remaining units by the response header. The request consumes one unit. */
async function remaining(which: number): Promise<number | undefined> {
  const response = await fetch(urlOf(which))
  await response.arrayBuffer()
  const left = response.headers.get('x-ratelimit-remaining')
  return left === null ? undefined : Number(left)
}

function urlOf(which: number): string {
  return `http://127.0.0.1:${ports[which]}/`
}
