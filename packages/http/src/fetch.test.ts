import { createAdaptorServer } from '@hono/node-server'
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
