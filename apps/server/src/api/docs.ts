import type { FastifyInstance } from 'fastify'
import { docsPage, type OpenApi } from './docs-page.js'
import { sendPage } from './page.js'

/** The API as its own routes describe it. What is sent is made once, when all routes are known. */
export function docsRoutes(app: FastifyInstance): void {
  let json = ''
  let page = ''
  app.addHook('onReady', async () => {
    const description = app.swagger() as unknown as OpenApi
    json = JSON.stringify(description)
    page = docsPage(description)
  })
  const schema = { tags: ['operation'], summary: 'This description, as OpenAPI.' }
  app.get('/openapi.json', { schema, exposeHeadRoute: true }, (_request, reply) => {
    reply.type('application/json').send(json)
  })
  app.get('/docs', { schema: { ...schema, hide: true }, exposeHeadRoute: true }, (_request, reply) => {
    sendPage(reply, page)
  })
}
