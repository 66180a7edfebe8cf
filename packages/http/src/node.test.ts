import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { rateLimit } from './node.js'

describeCases({
  name: 'node:http',
  route: undefined,
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
