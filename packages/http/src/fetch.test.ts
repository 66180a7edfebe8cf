import { createAdaptorServer } from '@hono/node-server'
import { createLimiter, fixedWindow } from '@tidegate/core'
import { expect, it } from 'vitest'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { failingStore } from '../test/stores.js'
import { toResponse } from '../test/to-response.js'
import { rateLimit } from './fetch.js'

describeCases({
  name: 'Fetch',
  route: undefined,
  routesTargets: false,
  tools: {
    header: (request, name) => request.headers.get(name) ?? undefined,
    handler: (answer) => (_: Request, event: never) => {
      const { status, text } = answer(event)
      return new Response(text, { status })
    },
  },
  serve(options, application) {
    const fetch = rateLimit(options as never)((request: Request, _env: unknown) =>
      toResponse(application.answer(new URL(request.url).pathname)),
    )
    return listen(createAdaptorServer({ fetch }) as never)
  },
})

const policy = fixedWindow({ limit: 1, window: '365d', name: 'one' })

it('hands over whatever came with the request, and asks it for the address', async () => {
  const limit = rateLimit({ policy, peer: (request, info) => (info as { ip: string }).ip ?? request.url })
  const handle = limit((_request, info: { ip: string }, more: number) => new Response(`${info.ip} ${more}`))
  const answers = []
  for (const ip of ['192.0.2.1', '192.0.2.1', '192.0.2.2']) {
    const response = await handle(new Request('http://localhost/'), { ip }, 5)
    answers.push(response.ok ? await response.text() : response.status)
  }
  expect(answers).toStrictEqual(['192.0.2.1 5', 429, '192.0.2.2 5'])
})

it('an answer that cannot be changed gets the headers all the same', async () => {
  const handle = rateLimit({ policy, key: 'all' })(() => Response.redirect('http://localhost/elsewhere'))
  const response = await handle(new Request('http://localhost/'))
  expect(response.status).toBe(302)
  expect(response.headers.get('location')).toBe('http://localhost/elsewhere')
  expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
})

it('an answer without a body is given back at once', async () => {
  const limiter = createLimiter({ policy })
  const handle = rateLimit({ limiter, key: 'all', refundWhen: (status) => status === 304 })(
    () => new Response(null, { status: 304 }),
  )
  await handle(new Request('http://localhost/'))
  expect(limiter.peek('all').remaining).toBe(1)
})

it('what a request took is given back if the handler throws, which is a 500', async () => {
  const limiter = createLimiter({ policy })
  const limit = rateLimit({ limiter, key: 'all', refundWhen: (status) => status === 500 })
  const handle = limit(() => {
    throw new Error('of the handler')
  })
  await expect(handle(new Request('http://localhost/'))).rejects.toThrow('of the handler')
  expect(limiter.peek('all').remaining).toBe(1)
})

it('one limiter in another lists its limits beside those of the other, on an answer that is one for all too', async () => {
  const answer = new Response(null, { status: 204 })
  const outer = rateLimit({ policy: fixedWindow({ limit: 10, window: '365d', name: 'outer' }), key: 'all' })
  const inner = rateLimit({ policy: fixedWindow({ limit: 5, window: '365d', name: 'inner' }), key: 'all' })
  const handle = outer(inner(() => answer))
  for (let left = 4; left >= 0; left--) {
    const { headers } = await handle(new Request('http://localhost/'))
    expect(headers.get('x-ratelimit-remaining')).toBe(String(left))
    const both = new RegExp(`^"outer";r=${left + 5};t=\\d+, "inner";r=${left};t=\\d+$`)
    expect(headers.get('ratelimit')).toMatch(both)
  }
  const refused = await handle(new Request('http://localhost/'))
  expect([refused.status, refused.headers.get('x-ratelimit-limit')]).toStrictEqual([429, '5'])
})

it('no number of another limiter stands beside the limit of one whose store fails', async () => {
  const outer = rateLimit({ policy: fixedWindow({ limit: 10, window: '365d', name: 'outer' }), key: 'all' })
  const failing = { policy: fixedWindow({ limit: 5, window: '365d', name: 'inner' }), store: failingStore() }
  const handle = outer(rateLimit({ ...failing, key: 'all' })(() => new Response('hello')))
  const { headers } = await handle(new Request('http://localhost/'))
  expect(headers.get('x-ratelimit-limit')).toBe('5')
  expect(headers.get('x-ratelimit-remaining')).toBeNull()
  expect(headers.get('ratelimit')).toMatch(/^"outer";r=9;t=\d+$/)
})

it('a network error that is answered stays one', async () => {
  const handle = rateLimit({ policy, key: 'all' })(() => Response.error())
  expect((await handle(new Request('http://localhost/'))).type).toBe('error')
})

it('a request without an address is an error that says what to write, and does not run the handler', async () => {
  let handled = 0
  const run = () => {
    handled++
    return new Response('hello')
  }
  const request = () => new Request('http://localhost/', { headers: { 'x-forwarded-for': '203.0.113.9' } })
  for (const options of [
    { limit: 1, window: '1m' },
    { policy, peer: () => null },
    { policy, peer: () => 'junk' },
  ]) {
    await expect(rateLimit(options)(run)(request())).rejects.toMatchObject({
      code: 'ADDRESS_UNKNOWN',
      field: 'peer',
      message: expect.stringMatching(/Write peer: \(request\) => .*proxies: \{ hops: 1 \}/),
    })
  }
  expect(handled).toBe(0)
  const counted = rateLimit({ policy, proxies: { hops: 1 } })(run)
  expect([(await counted(request())).status, (await counted(request())).status]).toStrictEqual([200, 429])
})

it('an address that is promised is told of', async () => {
  const peer = (async () => '192.0.2.1') as unknown as () => string
  const handle = rateLimit({ policy, peer })(() => new Response('hello'))
  await expect(handle(new Request('http://localhost/'))).rejects.toThrow(
    'peer must return the address as text',
  )
})

it('what the handler throws is for the runtime', async () => {
  const handle = rateLimit({ policy, key: 'all' })(() => {
    throw new Error('of the handler')
  })
  await expect(handle(new Request('http://localhost/'))).rejects.toThrow('of the handler')
})
