import type { AddressInfo } from 'node:net'
import { HTTP_CONTENDERS } from './http-contenders.js'

/*
 * The process that is measured: it serves each contender that it is named on a port of its own. Arguments: the
 * URL of Redis, contenders. Sends the ports, and from then on, whenever it is asked, what processor time it has
 * used so far, in microseconds.
 */

const [redisUrl = '', ...contenders] = process.argv.slice(2)
const ports: number[] = []
for (const contender of contenders) {
  const serve = HTTP_CONTENDERS[contender]
  if (serve === undefined) throw new Error(`There is no contender "${contender}".`)
  const server = await serve(redisUrl)
  ports.push((server.address() as AddressInfo).port)
}

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
process.on('disconnect', () => process.exit(0))
process.send?.(ports)
