import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import staticFiles from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { PAGE_HEADERS } from '../response/page-headers.js'

/** `scripts/setup.mjs` copies the built dashboard here, to publish it with the service. */
export const DASHBOARD_FOLDER = fileURLToPath(new URL('../../../dist/page/', import.meta.url))

/** Serves the dashboard, each file as its own route. Returns false if the dashboard was not built. */
export function dashboardFiles(app: FastifyInstance, folder: string): boolean {
  if (!existsSync(join(folder, 'index.html'))) return false
  app.register(async (scope) => {
    scope.addHook('onRequest', ({ url }, reply, done) => {
      // Asset names contain a hash of their content.
      const cacheControl = url.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
      reply.headers({ ...PAGE_HEADERS, vary: 'accept-encoding', 'cache-control': cacheControl })
      done()
    })
    await scope.register(staticFiles, {
      root: folder,
      wildcard: false,
      decorateReply: false,
      cacheControl: false,
      preCompressed: true,
      globIgnore: ['**/*.gz'],
    })
  })
  return true
}
