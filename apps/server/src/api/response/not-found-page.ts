import { show } from '@tidegate/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from './denial.js'
import { escapeHtml, pageOf, sendPage } from './html-page.js'

/** Whether a person opened the address: browsers accept HTML first, API clients any type or JSON. */
export function isOpenedInBrowser({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.accept?.startsWith('text/html') === true
}

export function sendNotFoundPage(request: FastifyRequest, reply: FastifyReply): void {
  const page = pageOf(
    'Page not found · Tidegate',
    `<h1>Page not found</h1>
<p>Unknown path ${escapeHtml(show(pathOf(request)))}.</p>
<p><a href="/">Dashboard</a>, <a href="/docs">API reference</a></p>`,
  )
  sendPage(reply.code(404), page)
}
