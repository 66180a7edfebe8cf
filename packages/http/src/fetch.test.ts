import { createAdaptorServer } from '@hono/node-server'
import { createLimiter, fixedWindow } from '@tidegate/core'
import { expect, it } from 'vitest'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { toResponse } from '../test/to-response.js'
import { rateLimit } from './fetch.js'

describeCases({
  name: 'Fetch',
  route: undefined,
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

it('what the handler throws is for the runtime', async () => {
  const handle = rateLimit({ policy, key: 'all' })(() => {
    throw new Error('of the handler')
  })
  await expect(handle(new Request('http://localhost/'))).rejects.toThrow('of the handler')
})
