import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fixedWindow } from '@tidegate/core'
import { expect, it, vi } from 'vitest'
import { describeCases } from '../../test/cases.js'
import { listen } from '../../test/listen.js'
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

it('onError responds to an error in a function of the options', async () => {
  const limit = rateLimit({
    policy: fixedWindow({ limit: 1, window: '1m' }),
    key: () => {
      throw new Error('error in key')
    },
    onError(error, _, response) {
      response.writeHead(502).end((error as Error).message)
    },
  })
  const { port, close } = await listen(limit((_, response) => response.end('hello')))
  const response = await fetch(`http://127.0.0.1:${port}/`)
  expect([response.status, await response.text()]).toStrictEqual([502, 'error in key'])
  await close()
})

it('a client on a Unix socket is an error, unless the proxy sends its address', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const statusOf = async (options: object, headers = {}) => {
    const errors: unknown[] = []
    const limit = rateLimit({
      policy: fixedWindow({ limit: 1, window: '1m', name: 'one' }),
      ...options,
      onError(error, _, response) {
        errors.push((error as { code?: string }).code)
        response.writeHead(500).end()
      },
    })
    const path = join(tmpdir(), `tidegate-${process.pid}-${Math.random().toString(36).slice(2)}.sock`)
    const server = createServer(limit((_, response) => response.end('hello'))).listen(path)
    await once(server, 'listening')
    const [response] = (await once(request({ socketPath: path, headers }).end(), 'response')) as [
      IncomingMessage,
    ]
    response.resume()
    server.closeAllConnections()
    server.close()
    return [response.statusCode, ...errors]
  }
  expect(await statusOf({})).toStrictEqual([500, 'ADDRESS_UNKNOWN'])
  expect(await statusOf({ proxies: { hops: 1 } })).toStrictEqual([500, 'ADDRESS_UNKNOWN'])
  expect(await statusOf({ proxies: { hops: 1 } }, { 'x-forwarded-for': '203.0.113.9' })).toStrictEqual([200])
})
