import { FASTIFY_PROXY, GATEWAY } from './gateway-scenarios.js'

/** Sends requests of some users twice: all must reach the upstream, and a limiter must count each user separately. */
export async function assertProxies(contender: string, url: string, upstreamUrl: string): Promise<void> {
  const before = await countAt(upstreamUrl)
  for (const requests of [1, 2]) {
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${url}/api/items/${i}`, { headers: { 'x-user-id': `set-up:${i}` } })
      const body = await response.text()
      if (response.status !== 200 || body.length !== 128 || response.headers.get('etag') !== '"one"') {
        throw new Error(`Set-up: ${contender} sent ${response.status}, ${body.length} bytes.`)
      }
      if (contender !== GATEWAY && contender !== FASTIFY_PROXY) continue
      const counted = 1_000_000_000 - Number(response.headers.get('x-ratelimit-remaining'))
      if (counted === requests) continue
      throw new Error(
        `Set-up: user ${i} sent ${requests} requests to ${contender}, which counted ${counted}.`,
      )
    }
  }
  const passed = (await countAt(upstreamUrl)) - before
  if (passed !== 40)
    throw new Error(`Set-up: of 40 requests to ${contender}, ${passed} reached the upstream.`)
}

/** The number of requests that reached the upstream. */
export async function countAt(upstreamUrl: string): Promise<number> {
  return Number(await (await fetch(`${upstreamUrl}/count`)).text())
}
