import type { AddressInfo } from 'node:net'
import { HTTP_CONTENDERS } from './http-contenders.js'
import { SERVER_CORE, stayOnCore } from './one-core.js'

/** What a process that serves has done so far. */
export interface Served {
  /** Processor time, in microseconds. */
  cpuUs: number
  /** Requests to each of its servers. */
  requests: readonly number[]
}

/*
 * The process that is measured: it serves each contender that it is named on a port of its own. Arguments: the
 * URL of Redis, contenders. Sends the ports, and from then on, whenever it is asked, what it has done so far.
 */

stayOnCore(SERVER_CORE)
const [redisUrl = '', ...contenders] = process.argv.slice(2)
const ports: number[] = []
const requests = contenders.map(() => 0)
for (const [i, contender] of contenders.entries()) {
  const serve = HTTP_CONTENDERS[contender]
  if (serve === undefined) throw new Error(`There is no contender "${contender}".`)
  const server = await serve(redisUrl)
  server.on('request', () => requests[i]!++)
  ports.push((server.address() as AddressInfo).port)
}

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuUs: user + system, requests } satisfies Served)
})
process.on('disconnect', () => process.exit(0))
process.send?.(ports)
