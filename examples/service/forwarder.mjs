// Stands in front of a server and passes on what Tidegate allows. The rules are in the service's file; this only tells
// it what has come, and obeys. A sketch to start from, in any language: it is one POST per request.
//
//   npx tidegate start --config examples/service/tidegate.yaml
//   node examples/service/forwarder.mjs http://127.0.0.1:3000 8000
import { createServer, request as send } from 'node:http'
import { pipeline } from 'node:stream'

const [upstream = 'http://127.0.0.1:3000', port = '8000'] = process.argv.slice(2)
const tidegate = process.env.TIDEGATE_URL ?? 'http://127.0.0.1:8080'
/** For how long a request waits for the service's answer. */
const patienceMs = Number(process.env.PATIENCE_MS ?? 500)
/** What belongs to one connection and is not passed on (RFC 9110, 7.6.1). */
const HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']
/** What the client should know of its limits. */
const TOLD = ['ratelimit', 'ratelimit-policy', 'retry-after', 'x-ratelimit-degraded']

const server = createServer(async (request, response) => {
  const answer = await ask(request)
  for (const name of TOLD) {
    const value = answer?.headers.get(name)
    if (value) response.setHeader(name, value)
  }
  // No answer at all: this one lets pass. Refuse instead where a flood does more harm than an outage.
  if (answer === undefined || answer.status === 200) return passOn(request, response)
  // 429 is a refusal, 503 one by a policy that is closed while its store fails. 400 is a path with more than one
  // meaning, which is not passed on either.
  const status = [400, 429, 503].includes(answer.status) ? answer.status : 502
  const seconds = answer.headers.get('retry-after')
  const message = seconds === null ? 'This cannot be passed on.' : `Try again in ${seconds} seconds.`
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify({ error: status === 429 ? 'rate_limit_exceeded' : 'refused', message }))
})

/**
 * What the service says about a request; undefined if it says nothing in time.
 * @param {import('node:http').IncomingMessage} request
 */
async function ask({ method, url, headers, socket }) {
  try {
    const answer = await fetch(`${tidegate}/api/v1/rate-limit/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ request: { method, path: url, headers, ip: socket.remoteAddress } }),
      signal: AbortSignal.timeout(patienceMs),
    })
    await answer.text()
    return answer
  } catch (error) {
    console.error(`Tidegate does not answer: ${error}`)
    return undefined
  }
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
function passOn(request, response) {
  const { method, url, headers, socket } = request
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(/\s*,\s*/)
  const kept = Object.entries(headers).filter(([name]) => !HOP.includes(name) && !named.includes(name))
  // Set after what the client has named is gone, so that it cannot name this.
  const forwarded = [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ')
  const options = {
    method,
    path: url,
    headers: { ...Object.fromEntries(kept), 'x-forwarded-for': forwarded },
  }
  const passed = send(upstream, options, (answer) => {
    for (const [name, value] of Object.entries(answer.headers)) {
      if (!HOP.includes(name) && value !== undefined) response.setHeader(name, value)
    }
    response.writeHead(answer.statusCode ?? 502)
    // If the upstream dies in the middle, the client must not wait for the rest.
    pipeline(answer, response, () => {})
  })
  passed.on('error', () => {
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  })
  request.pipe(passed)
}

server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address()
  console.log(
    `http://127.0.0.1:${typeof address === 'object' ? address?.port : port} passes on to ${upstream}`,
  )
})
process.once('SIGTERM', () => server.close(() => process.exit(0)))
