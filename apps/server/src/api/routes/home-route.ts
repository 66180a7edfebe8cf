import type { FastifyInstance } from 'fastify'
import type { Service } from '../../service.js'
import { escapeHtml, pageOf, sendPage } from '../response/html-page.js'
import { DASHBOARD_FOLDER, dashboardFiles } from './dashboard-files.js'

/** Serves the dashboard, or a short page with links if it was not built. */
export function homeRoutes(app: FastifyInstance, service: Service, folder = DASHBOARD_FOLDER): void {
  if (dashboardFiles(app, folder)) return
  const page = homePage(service)
  const schema = { hide: true, summary: 'Start page.' }
  app.get('/', { schema, exposeHeadRoute: true }, (_request, reply) => sendPage(reply, page))
}

function homePage({ version, health }: Service): string {
  const rows = [
    ['/docs', 'API reference'],
    ['/openapi.json', 'OpenAPI document'],
    ['/metrics', 'Prometheus metrics'],
    ['/healthz', 'Health of the service and its store'],
  ]
  return pageOf(
    'Tidegate',
    `<h1>Tidegate</h1>
<p>This is Tidegate ${escapeHtml(version)}, a rate limiter. Store: ${escapeHtml(health.storeKind)}.</p>
<p>Check a key:</p>
<pre><code>GET /api/v1/rate-limit/check?key=user:123</code></pre>
<table>
${rows.map(([path, title]) => `<tr><td><a href="${path}">${path}</a></td><td>${title}</td></tr>`).join('\n')}
</table>`,
  )
}
