import { afterEach, describe, expect, it } from 'vitest'
import { gatewayTo, type TestGateway, type TestUpstream, upstreamOf } from '../../test/gateway.js'

describe('a gateway', () => {
  let upstream: TestUpstream
  let gateway: TestGateway
  afterEach(async () => {
    await gateway?.close()
    await upstream?.close()
  })

  it('forwards a request and its response', async () => {
    upstream = await upstreamOf((request, response) => {
      let body = ''
      request.on('data', (piece) => {
        body += piece
      })
      request.on('end', () => {
        response.writeHead(201, { 'x-seen': `${request.method} ${request.url}` }).end(`got ${body}`)
      })
    })
    gateway = await gatewayTo({ upstreams: [upstream.url] })
    const response = await fetch(`${gateway.url}/a/b?c=d`, { method: 'POST', body: 'hello' })
    expect(response.status).toBe(201)
    expect(response.headers.get('x-seen')).toBe('POST /a/b?c=d')
    expect(await response.text()).toBe('got hello')
  })

  it('responds with 404 if no route matches', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    gateway = await gatewayTo({ id: 'here', upstreams: [upstream.url] })
    const response = await fetch(`${gateway.url}/there`)
    expect(response.status).toBe(404)
    expect(await response.json()).toStrictEqual({
      error: 'not_found',
      message: 'No route matches this request.',
    })
  })
})
