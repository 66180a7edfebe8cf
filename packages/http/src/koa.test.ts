import { Readable } from 'node:stream'
import Koa, { type Context } from 'koa'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { rateLimit } from './koa.js'

describeCases({
  name: 'Koa',
  route: undefined,
  tools: {
    header: (context, name) => context.get(name) || undefined,
    handler: (answer) => (context: Context, event: never) => {
      const { status, text } = answer(event)
      context.status = status
      context.body = text
    },
  },
  serve(options, application) {
    const app = new Koa()
    app.silent = true
    app.use(rateLimit(options as never))
    app.use((context) => {
      const { status, body } = application.answer(context.path)
      context.status = status
      context.body = typeof body === 'string' ? body : Readable.from(body)
    })
    return listen(app.callback())
  },
})
