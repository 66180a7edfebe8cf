import { FASTIFY, OURS } from './gateway-scenarios.js'

/** Asks some users' requests twice: each must reach the upstream, and be counted by itself where there is a limiter. */
export async function assertProxies(contender: string, url: string, upstreamUrl: string): Promise<void> {
  const before = await countAt(upstreamUrl)
  for (const asked of [1, 2]) {
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${url}/api/items/${i}`, { headers: { 'x-user-id': `set-up:${i}` } })
      const body = await response.text()
      if (response.status !== 200 || body.length !== 128 || response.headers.get('etag') !== '"one"') {
        throw new Error(`Set-up: ${contender} answered ${response.status}, ${body.length} bytes.`)
      }
      if (contender !== OURS && contender !== FASTIFY) continue
      const counted = 1_000_000_000 - Number(response.headers.get('x-ratelimit-remaining'))
      if (counted === asked) continue
      throw new Error(`Set-up: user ${i} has asked ${contender} ${asked} times; it has counted ${counted}.`)
    }
  }
  const passed = (await countAt(upstreamUrl)) - before
  if (passed !== 40)
    throw new Error(`Set-up: of 40 requests to ${contender}, ${passed} reached the upstream.`)
}

/** How many requests the upstream has answered. */
export async function countAt(upstreamUrl: string): Promise<number> {
  return Number(await (await fetch(`${upstreamUrl}/count`)).text())
}
