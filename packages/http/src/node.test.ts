import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { fixedWindow } from '@tidegate/core'
import { expect, it } from 'vitest'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { rateLimit } from './node.js'

describeCases({
  name: 'node:http',
  route: undefined,
  routesTargets: true,
  tools: {
    header: (request, name) => request.headers[name],
    handler: (answer) => (_: IncomingMessage, response: ServerResponse, event: never) => {
      const { status, text } = answer(event)
      response.writeHead(status).end(text)
    },
  },
  serve(options, application) {
    const limit = rateLimit(options as never)
    return listen(
      limit((request, response) => {
        const { status, body } = application.answer(request.url ?? '/')
        response.statusCode = status
        if (typeof body === 'string') response.end(body)
        else Readable.from(body).pipe(response)
      }),
    )
  },
})

it('an error in a function of the user is answered as the user likes', async () => {
  const limit = rateLimit({
    policy: fixedWindow({ limit: 1, window: '1m' }),
    key: () => {
      throw new Error('of the user')
    },
    onError(error, _, response) {
      response.writeHead(502).end((error as Error).message)
    },
  })
  const { port, close } = await listen(limit((_, response) => response.end('hello')))
  const response = await fetch(`http://127.0.0.1:${port}/`)
  expect([response.status, await response.text()]).toStrictEqual([502, 'of the user'])
  await close()
})
