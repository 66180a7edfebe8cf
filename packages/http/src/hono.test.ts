import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { toResponse } from '../test/to-response.js'
import { rateLimit } from './hono.js'

describeCases({
  name: 'Hono',
  route: '/status/:code',
  tools: {
    header: (context, name) => context.req.header(name),
    handler: (answer) => (context: Context, event: never) => {
      const { status, text } = answer(event)
      return context.text(text, status as 418)
    },
  },
  serve(options, application) {
    const app = new Hono()
    app.use(rateLimit(options as never))
    const answer = (context: Context) => toResponse(application.answer(context.req.path))
    app.all('/status/:code', answer)
    app.notFound(answer)
    return listen(createAdaptorServer(app) as never)
  },
})
