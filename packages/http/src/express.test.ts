import { Readable } from 'node:stream'
import express, { type Request, type Response } from 'express'
// @ts-expect-error: the same types, which it does not have under this name
import express4 from 'express-4'
import { describeCases } from '../test/cases.js'
import { listen } from '../test/listen.js'
import { rateLimit } from './express.js'

for (const [name, create] of [
  ['Express 5', express],
  ['Express 4', express4 as typeof express],
] as const) {
  describeCases({
    name,
    route: '/status/:code',
    tools: {
      header: (request, name) => request.get(name),
      handler: (answer) => (_: Request, response: Response, __: unknown, event: never) => {
        const { status, text } = answer(event)
        response.status(status).send(text)
      },
    },
    serve(options, application) {
      const app = create()
      const limit = rateLimit(options as never)
      const answer = (request: Request, response: Response) => {
        const { status, body } = application.answer(request.path)
        response.status(status)
        if (typeof body === 'string') response.send(body)
        else Readable.from(body).pipe(response)
      }
      app.all('/status/:code', limit, answer)
      app.use(limit, answer)
      return listen(app)
    },
  })
}
