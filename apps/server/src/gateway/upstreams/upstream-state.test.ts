import { createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { afterEach, describe, expect, it } from 'vitest'
import { deadUrl, gatewayTo, listening, type TestGateway, type TestUpstream } from '../../../test/gateway.js'

let gateway: TestGateway
let upstream: TestUpstream | undefined

afterEach(async () => {
  await gateway.close()
  await upstream?.close()
  upstream = undefined
})

const warnings = () => gateway.logged.filter(({ level }) => Number(level) >= 40)

async function upIn(metrics: string): Promise<string[]> {
  return [...metrics.matchAll(/^gateway_upstream_up\{upstream="(.*)"\} (\d)$/gm)].map(([, , value]) => value!)
}

describe('an unreachable upstream', () => {
  it.each<[string, () => Promise<string>, RegExp]>([
    ['refuses connections', deadUrl, /^ECONNREFUSED: connect ECONNREFUSED 127\.0\.0\.1:\d+$/],
    // Not a valid name, so that no name server is asked.
    ['has an unknown name', async () => 'http://a..b:81', /^(ENOTFOUND|EAI_\w+): getaddrinfo \S+ a\.\.b$/],
    [
      'has a self-signed certificate',
      async () => {
        upstream = await listening(createHttpsServer(makeCertificate()))
        return upstream.url.replace('http:', 'https:')
      },
      /^DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate/,
    ],
  ])('is logged with the reason: it %s', async (_title, urlOf, reason) => {
    const url = await urlOf()
    gateway = await gatewayTo({ upstreams: [url] })
    const response = await fetch(gateway.url)
    expect(response.status).toBe(502)
    // The response has no details about the network behind the gateway.
    expect(await response.text()).not.toMatch(/ECONN|ENOTFOUND|a\.\.b|self/)
    expect(warnings()).toMatchObject([
      { msg: 'Upstream unreachable', upstream: url, reason: expect.stringMatching(reason) },
    ])
  })

  it('is logged once when it fails and once when it recovers, and is a gauge', async () => {
    const url = await deadUrl()
    gateway = await gatewayTo({ upstreams: [url] })
    expect(await upIn(await gateway.registry.metrics())).toStrictEqual(['1'])
    for (let i = 0; i < 3; i++) expect((await fetch(gateway.url)).status).toBe(502)
    expect(warnings()).toHaveLength(1)
    expect(await upIn(await gateway.registry.metrics())).toStrictEqual(['0'])

    const server = createServer((_request, response) => response.end())
    await new Promise<void>((resolve) => server.listen(Number(new URL(url).port), '127.0.0.1', resolve))
    for (let i = 0; i < 3; i++) expect((await fetch(gateway.url)).status).toBe(200)
    const changes = gateway.logged.filter(({ level }) => Number(level) >= 30).map(({ msg }) => msg)
    expect(changes).toStrictEqual(['Upstream unreachable', 'Upstream reachable again'])
    expect(await upIn(await gateway.registry.metrics())).toStrictEqual(['1'])
    await gateway.close()
    await new Promise((resolve) => server.close(resolve))
  })
})
