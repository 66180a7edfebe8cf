import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { PUBLIC } from '../openapi/schemas.js'
import { PAGE_HEADERS, PAGE_POLICY } from '../response/page-headers.js'

const schema = {
  operationId: 'getOpenApi',
  tags: ['operation'],
  summary: 'This document.',
  security: PUBLIC,
  response: {
    200: {
      description: 'The OpenAPI document of this service.',
      content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
    },
  },
}

/** Dark if the dashboard is: by the user's choice, else as the system. */
const THEME_SCRIPT = `const system = matchMedia('(prefers-color-scheme: dark)')
function applyTheme() {
  let chosen = null
  try {
    chosen = localStorage.getItem('tidegate-theme')
  } catch {}
  document.documentElement.classList.toggle('dark-mode', chosen === null ? system.matches : chosen === 'dark')
}
system.addEventListener('change', applyTheme)
applyTheme()
`

/** The OpenAPI document, and Swagger UI to read it and to send requests. */
export function docsRoutes(app: FastifyInstance): void {
  let json = ''
  app.addHook('onReady', async () => {
    json = JSON.stringify(app.swagger())
  })
  app.get('/openapi.json', { schema, exposeHeadRoute: true }, (_request, reply) => {
    reply.type('application/json').send(json)
  })
  app.register(async (scope) => {
    scope.addHook('onRequest', (_request, reply, done) => {
      reply.headers({ ...PAGE_HEADERS, 'cache-control': 'no-cache' })
      done()
    })
    // The plugin defines only GET.
    scope.head('/docs', { schema: { hide: true } }, (_request, reply) => {
      reply.type('text/html; charset=utf-8').send()
    })
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: PAGE_POLICY,
      theme: { title: 'Tidegate API', js: [{ filename: 'theme.js', content: THEME_SCRIPT }] },
      uiConfig: {
        layout: 'BaseLayout',
        deepLinking: true,
        filter: true,
        tryItOutEnabled: true,
        displayRequestDuration: true,
        displayOperationId: false,
        docExpansion: 'list',
        // The list of schemas starts closed: it is longer than that of the operations.
        defaultModelsExpandDepth: 0,
      },
    })
  })
}
