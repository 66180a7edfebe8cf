// Well-behaved clients, each with one connection and one request at a time. Arguments: a JSON list of
// { name, url, headers, ca }, and the number of requests of each. After these, or on a message, the process sends what
// each client received.
// The clients have their own address, so that a service can distinguish them from clients on 127.0.0.1.
import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'

const BETWEEN_MS = 5
const ADDRESS = '127.0.0.2'
/** @typedef {{ name: string, url: string, headers?: Record<string, string>, ca?: string }} Client */
/** @type {Client[]} */
const clients = JSON.parse(process.argv[2] ?? '[]')
const requests = Number(process.argv[3] ?? Number.POSITIVE_INFINITY)
let isRunning = true

/** @param {Client} client */
async function run({ name, url, headers = {}, ca }) {
  const { Agent, request } = url.startsWith('https:') ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...(ca === undefined ? {} : { ca }) })
  /** @type {Record<string, number>} */
  const responses = {}
  /** @type {string[]} */
  const errors = []
  let slowestMs = 0
  for (let n = 0; isRunning && n < requests; n++) {
    const startMs = performance.now()
    try {
      const sent = request(url, { agent, headers, localAddress: ADDRESS })
      sent.end()
      const [response] = await once(sent, 'response')
      response.resume()
      await once(response, 'end')
      const kind = `${response.statusCode} ${response.headers['x-ratelimit-degraded'] ?? 'store'}`
      responses[kind] = (responses[kind] ?? 0) + 1
      slowestMs = Math.max(slowestMs, performance.now() - startMs)
    } catch (error) {
      errors.push(String(error))
    }
    await pause(BETWEEN_MS)
  }
  agent.destroy()
  return { name, responses, errors, slowestMs }
}

process.on('disconnect', () => process.exit(0))
process.once('message', () => {
  isRunning = false
})
process.send?.('started')
process.send?.(await Promise.all(clients.map(run)))
