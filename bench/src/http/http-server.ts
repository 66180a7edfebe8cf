import type { AddressInfo } from 'node:net'
import { pinToCore, SERVER_CORE } from '../load/cpu-cores.js'
import { HTTP_CONTENDERS } from './http-contenders.js'

/** The totals of the server process. */
export interface Served {
  /** Processor time, in microseconds. */
  cpuUs: number
  /** Requests per contender. */
  requests: readonly number[]
}

/*
 * The measured process: serves each contender on its own port. Arguments: URL of Redis, contenders. Sends the ports, and
 * then its totals in response to each message.
 */

pinToCore(SERVER_CORE)
const [redisUrl = '', ...contenders] = process.argv.slice(2)
const ports: number[] = []
const requests = contenders.map(() => 0)
for (const [i, contender] of contenders.entries()) {
  const serve = HTTP_CONTENDERS[contender]
  if (serve === undefined) throw new Error(`Unknown contender "${contender}".`)
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
