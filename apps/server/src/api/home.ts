import type { FastifyInstance } from 'fastify'
import type { Service } from '../service.js'
import { escapeHtml, pageOf, sendPage } from './page.js'
import { SITE_FOLDER, siteRoutes } from './site.js'

/** The page; where it was not built, a few words instead. */
export function homeRoutes(app: FastifyInstance, service: Service, folder = SITE_FOLDER): void {
  if (siteRoutes(app, folder)) return
  const page = homePage(service)
  const schema = { hide: true, summary: 'What runs here.' }
  app.get('/', { schema, exposeHeadRoute: true }, (_request, reply) => sendPage(reply, page))
}

function homePage({ version, health }: Service): string {
  const rows = [
    ['/docs', 'the API, to read'],
    ['/openapi.json', 'the API, for machines'],
    ['/metrics', 'metrics for Prometheus'],
    ['/healthz', 'whether the service and its store are well'],
  ]
  return pageOf(
    'Tidegate',
    `<h1>Tidegate</h1>
<p>This is Tidegate ${escapeHtml(version)}, a rate limiter. It counts in ${escapeHtml(health.storeKind)}.</p>
<p>Ask it whether a request may pass:</p>
<pre><code>GET /api/v1/rate-limit/check?key=user:123</code></pre>
<table>
${rows.map(([path, what]) => `<tr><td><a href="${path}">${path}</a></td><td>${what}</td></tr>`).join('\n')}
</table>`,
  )
}
