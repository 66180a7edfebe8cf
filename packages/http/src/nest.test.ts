import 'reflect-metadata'
import { Readable } from 'node:stream'
import { All, Controller, type ExecutionContext, Module, Req, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { describeCases } from '../test/cases.js'
import type { Application } from '../test/framework.js'
import { RateLimitModule } from './nest.js'

/** Decorators are functions: as written by a compiler, and what tests here are compiled by knows none. */
function controllerOf(application: Application, everything: string) {
  class Pages {
    // biome-ignore lint/suspicious/noExplicitAny: of Express or of Fastify
    answer(request: any, response: any) {
      const { status, body } = application.answer(request.url.split('?')[0])
      response.status(status)
      if (typeof body === 'string') response.send(body)
      else if (response.raw) response.send(Readable.from(body))
      else Readable.from(body).pipe(response)
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Pages.prototype, 'answer')!
  All(['/status/:code', everything, '/'])(Pages.prototype, 'answer', descriptor)
  Req()(Pages.prototype, 'answer', 0)
  Res()(Pages.prototype, 'answer', 1)
  Controller()(Pages)
  return Pages
}

for (const [platform, adapter, everything] of [
  ['Express', () => new ExpressAdapter(), '*path'],
  ['Fastify', () => new FastifyAdapter({ forceCloseConnections: true }), '*'],
] as const) {
  describeCases({
    name: `NestJS on ${platform}`,
    route: '/status/:code',
    tools: {
      header: (request, name) => request.headers[name],
      handler: (answer) => (context: ExecutionContext, event: never) => {
        const { status, text } = answer(event)
        context.switchToHttp().getResponse().status(status).send(text)
      },
    },
    async serve(options, application) {
      class App {}
      Module({
        imports: [RateLimitModule.forRoot(options as never)],
        controllers: [controllerOf(application, everything)],
      })(App)
      const app = await NestFactory.create(App, adapter() as never, { logger: false })
      await app.listen(0, '127.0.0.1')
      const server = app.getHttpServer()
      return {
        port: server.address().port,
        async close() {
          server.closeAllConnections()
          await app.close()
        },
      }
    },
  })
}
