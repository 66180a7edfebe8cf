// A proxy that forwards the requests that Tidegate allows. The rules are in the file of the service: the proxy describes each
// request in one POST and follows the decision. Use it as a starting point for a proxy in any language.
//
//   npx tidegate start --config examples/service/tidegate.yaml
//   node examples/service/forwarder.mjs http://127.0.0.1:3000 8000
import { createServer, request as send } from 'node:http'
import { pipeline } from 'node:stream'

const [upstream = 'http://127.0.0.1:3000', port = '8000'] = process.argv.slice(2)
const tidegate = process.env.TIDEGATE_URL ?? 'http://127.0.0.1:8080'
/** How long a request waits for the decision of the service. */
const timeoutMs = Number(process.env.TIMEOUT_MS ?? 500)
/** Headers of one connection, which are not forwarded (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** Headers of the service that the client gets. */
const RATE_LIMIT_HEADERS = ['ratelimit', 'ratelimit-policy', 'retry-after', 'x-ratelimit-degraded']

const server = createServer(async (request, response) => {
  const check = await checkRequest(request)
  for (const name of RATE_LIMIT_HEADERS) {
    const value = check?.headers.get(name)
    if (value) response.setHeader(name, value)
  }
  // Without a decision, this proxy allows the request. Reject it instead where a flood does more harm than an outage.
  if (check === undefined || check.status === 200) return forward(request, response)
  // 429: denied. 503: denied by a policy with onStoreFailure: closed. 400: an ambiguous path.
  const status = [400, 429, 503].includes(check.status) ? check.status : 502
  const seconds = check.headers.get('retry-after')
  const message = seconds === null ? 'This request cannot be forwarded.' : `Try again in ${seconds} seconds.`
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify({ error: status === 429 ? 'rate_limit_exceeded' : 'rejected', message }))
})

/**
 * The response of the service to a check; undefined if it does not respond in time.
 * @param {import('node:http').IncomingMessage} request
 */
async function checkRequest({ method, url, headers, socket }) {
  try {
    const check = await fetch(`${tidegate}/api/v1/rate-limit/check`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ request: { method, path: url, headers, ip: socket.remoteAddress } }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    await check.text()
    return check
  } catch (error) {
    console.error(`Tidegate unavailable: ${error}`)
    return undefined
  }
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
function forward(request, response) {
  const { method, url, headers, socket } = request
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(/\s*,\s*/)
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name) && !named.includes(name))
  // Added after the headers that the client's Connection header names are removed, so that a client cannot remove it.
  const forwarded = [headers['x-forwarded-for'], socket.remoteAddress].filter(Boolean).join(', ')
  const options = {
    method,
    path: url,
    headers: { ...Object.fromEntries(kept), 'x-forwarded-for': forwarded },
  }
  const forwardedRequest = send(upstream, options, (upstreamResponse) => {
    for (const [name, value] of Object.entries(upstreamResponse.headers)) {
      if (!HOP_BY_HOP.includes(name) && value !== undefined) response.setHeader(name, value)
    }
    response.writeHead(upstreamResponse.statusCode ?? 502)
    // If the upstream fails during its response, pipeline closes the connection to the client.
    pipeline(upstreamResponse, response, () => {})
  })
  forwardedRequest.on('error', () => {
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end()
  })
  request.pipe(forwardedRequest)
}

server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address()
  console.log(
    `http://127.0.0.1:${typeof address === 'object' ? address?.port : port} forwards to ${upstream}`,
  )
})
process.once('SIGTERM', () => server.close(() => process.exit(0)))
