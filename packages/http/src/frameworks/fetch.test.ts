import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createAdaptorServer } from '@hono/node-server'
import { concurrency, createLimiter, fixedWindow } from '@tidegate/core'
import { describe, expect, it, vi } from 'vitest'
import { describeCases } from '../../test/cases.js'
import { listen } from '../../test/listen.js'
import { failingStore } from '../../test/stores.js'
import { toResponse } from '../../test/to-response.js'
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

it('passes the arguments after the request to the handler and to peer', async () => {
  const limit = rateLimit({ policy, peer: (request, info) => (info as { ip: string }).ip ?? request.url })
  const handle = limit((_request, info: { ip: string }, more: number) => new Response(`${info.ip} ${more}`))
  const answers = []
  for (const ip of ['192.0.2.1', '192.0.2.1', '192.0.2.2']) {
    const response = await handle(new Request('http://localhost/'), { ip }, 5)
    answers.push(response.ok ? await response.text() : response.status)
  }
  expect(answers).toStrictEqual(['192.0.2.1 5', 429, '192.0.2.2 5'])
})

it('an immutable response gets the headers too', async () => {
  const handle = rateLimit({ policy, key: 'all' })(() => Response.redirect('http://localhost/elsewhere'))
  const response = await handle(new Request('http://localhost/'))
  expect(response.status).toBe(302)
  expect(response.headers.get('location')).toBe('http://localhost/elsewhere')
  expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
})

it('refunds a response without a body at once', async () => {
  const limiter = createLimiter({ policy })
  const handle = rateLimit({ limiter, key: 'all', refundWhen: (status) => status === 304 })(
    () => new Response(null, { status: 304 }),
  )
  await handle(new Request('http://localhost/'))
  expect(limiter.peek('all').remaining).toBe(1)
})

it('refunds a request whose handler throws, as a 500', async () => {
  const limiter = createLimiter({ policy })
  const limit = rateLimit({ limiter, key: 'all', refundWhen: (status) => status === 500 })
  const handle = limit(() => {
    throw new Error('error of the handler')
  })
  await expect(handle(new Request('http://localhost/'))).rejects.toThrow('error of the handler')
  expect(limiter.peek('all').remaining).toBe(1)
})

it('nested limiters list their limits together, also on a shared response object', async () => {
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
  const denied = await handle(new Request('http://localhost/'))
  expect([denied.status, denied.headers.get('x-ratelimit-limit')]).toStrictEqual([429, '5'])
})

it('a limiter whose store fails removes the numbers of other limiters', async () => {
  const outer = rateLimit({ policy: fixedWindow({ limit: 10, window: '365d', name: 'outer' }), key: 'all' })
  const failing = { policy: fixedWindow({ limit: 5, window: '365d', name: 'inner' }), store: failingStore() }
  const handle = outer(rateLimit({ ...failing, key: 'all' })(() => new Response('hello')))
  const { headers } = await handle(new Request('http://localhost/'))
  expect(headers.get('x-ratelimit-limit')).toBe('5')
  expect(headers.get('x-ratelimit-remaining')).toBeNull()
  expect(headers.get('ratelimit')).toMatch(/^"outer";r=9;t=\d+$/)
})

it('Response.error() is returned unchanged', async () => {
  const handle = rateLimit({ policy, key: 'all' })(() => Response.error())
  expect((await handle(new Request('http://localhost/'))).type).toBe('error')
})

it('a request without an address is an error with advice, and does not run the handler', async () => {
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
      message: expect.stringMatching(/peer: \(request\) => .*proxies: \{ hops: 1 \}/),
    })
  }
  expect(handled).toBe(0)
  const counted = rateLimit({ policy, proxies: { hops: 1 } })(run)
  expect([(await counted(request())).status, (await counted(request())).status]).toStrictEqual([200, 429])
})

it('rejects a peer function that returns a promise', async () => {
  const peer = (async () => '192.0.2.1') as unknown as () => string
  const handle = rateLimit({ policy, peer })(() => new Response('hello'))
  await expect(handle(new Request('http://localhost/'))).rejects.toThrow(
    'peer must return the address as a string',
  )
})

it('rejects with the error of the handler', async () => {
  const handle = rateLimit({ policy, key: 'all' })(() => {
    throw new Error('error of the handler')
  })
  await expect(handle(new Request('http://localhost/'))).rejects.toThrow('error of the handler')
})

describe('the slot of a response', () => {
  const slots = concurrency({ limit: 1, name: 'slots' })
  const bytes = (text: string) => new TextEncoder().encode(text)

  /** A handler behind an in-flight limit of one, and the number of free slots. */
  function limited(respond: () => Response) {
    const limiter = createLimiter({ policy: slots })
    const handle = rateLimit({ limiter, key: 'all' })(respond)
    const request = (init: RequestInit = {}) => handle(new Request('http://localhost/', init))
    return { request, free: () => limiter.peek('all').remaining }
  }

  it('is held until the body is read', async () => {
    const { request, free } = limited(() => new Response('hello'))
    const response = await request()
    expect(free()).toBe(0)
    expect(await response.text()).toBe('hello')
    expect(free()).toBe(1)
  })

  it('is freed when the runtime cancels the body, and the body is cancelled too', async () => {
    const cancel = vi.fn()
    const { request, free } = limited(() => new Response(new ReadableStream({ cancel })))
    const response = await request()
    await response.body?.cancel('gone')
    expect([free(), cancel.mock.calls]).toStrictEqual([1, [['gone']]])
  })

  it('is freed when the body breaks off', async () => {
    const broken = () =>
      new ReadableStream({
        start: (controller) => controller.enqueue(bytes('hel')),
        pull: (controller) => controller.error(new Error('broken')),
      })
    const { request, free } = limited(() => new Response(broken()))
    await expect((await request()).text()).rejects.toThrow('broken')
    expect(free()).toBe(1)
  })

  it('is freed when the client disconnects, although nothing reads the body', async () => {
    const client = new AbortController()
    const { request, free } = limited(() => new Response(new ReadableStream()))
    const response = await request({ signal: client.signal })
    expect(free()).toBe(0)
    client.abort()
    expect([free(), response.bodyUsed]).toStrictEqual([1, false])
  })

  it('is freed at once without a body', async () => {
    const { request, free } = limited(() => new Response(null, { status: 304 }))
    await request()
    expect(free()).toBe(1)
  })

  it('is freed if the handler throws', async () => {
    const { request, free } = limited(() => {
      throw new Error('error of the handler')
    })
    await expect(request()).rejects.toThrow('error of the handler')
    expect(free()).toBe(1)
  })

  it('is freed with a response that is dropped without being read', async () => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void
    const { request, free } = limited(() => new Response('hello'))
    await (async () => void (await request()))()
    await expect
      .poll(() => {
        collectGarbage()
        return free()
      })
      .toBe(1)
  })
})
