import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import autocannon from 'autocannon'
import { type Figures, median } from './figures.js'
import { HTTP_CONTENDERS, LIMIT } from './http-contenders.js'
import { httpScenarioNamed, LOAD } from './http-scenarios.js'

/*
 * Puts load on one contender and on the bare framework, which are both in a process of their own, by turns: a
 * machine that is slow for a second is slow for both. Arguments: scenario, contender, the URL of Redis. Sends
 * what a request costs that process.
 */

const [scenarioName = '', contender = '', redisUrl = ''] = process.argv.slice(2)
const { bare } = httpScenarioNamed(scenarioName)
if (HTTP_CONTENDERS[contender] === undefined) throw new Error(`There is no contender "${contender}".`)

const server = fork(new URL('./http-server.js', import.meta.url), [redisUrl, bare, contender], {
  execArgv: [],
})
try {
  const [ports] = (await once(server, 'message')) as [number[]]
  const figures = await measure(server, ports[0]!, ports[1]!)
  await new Promise((resolve) => process.send?.(figures, resolve))
} finally {
  server.disconnect()
}
process.exit(0)

async function measure(server: ChildProcess, barePort: number, port: number): Promise<Figures> {
  const before = await remaining(port)
  if (before === undefined || (await remaining(barePort)) !== undefined) {
    throw new Error(`${contender} should say what is left, and ${bare} should not.`)
  }
  for (const one of [barePort, port]) await turn(server, one, LOAD.warmUpRequests)
  const turns: { bare: Turn; limited: Turn }[] = []
  for (let i = 0; i < LOAD.turns; i++) {
    const bareTurn = await turn(server, barePort, LOAD.requests)
    turns.push({ bare: bareTurn, limited: await turn(server, port, LOAD.requests) })
  }
  const counted = before - ((await remaining(port)) ?? 0)
  const sent = LOAD.warmUpRequests + LOAD.turns * LOAD.requests + 1
  if (counted !== sent) throw new Error(`${contender} was sent ${sent} requests and counted ${counted}.`)
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

async function turn(server: ChildProcess, port: number, requests: number): Promise<Turn> {
  const { connections } = LOAD
  const usedBefore = await cpuUs(server)
  const start = performance.now()
  // It looks whether it is done at every sample.
  const url = `http://127.0.0.1:${port}/`
  const result = await autocannon({ url, connections, amount: requests, sampleInt: 10 })
  const seconds = (performance.now() - start) / 1000
  if (result['2xx'] !== requests || result.errors > 0) {
    throw new Error(`${contender}: of ${requests} requests ${result['2xx']} were answered.`)
  }
  return { cpuUs: ((await cpuUs(server)) - usedBefore) / requests, perSecond: requests / seconds }
}

async function cpuUs(server: ChildProcess): Promise<number> {
  server.send('cpu')
  const [used] = (await once(server, 'message')) as [number]
  return used
}

/** What it says is left; asking takes one. */
async function remaining(port: number): Promise<number | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}/`)
  await response.arrayBuffer()
  const left = response.headers.get('x-ratelimit-remaining')
  if (left !== null && !(Number(left) <= LIMIT)) throw new Error(`${contender} says that ${left} are left.`)
  return left === null ? undefined : Number(left)
}
