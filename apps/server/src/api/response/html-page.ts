import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.5 ui-monospace, monospace; background: var(--soft); border-radius: 4px }
code { padding: 0 .25em } pre { padding: .75rem; overflow-x: auto } pre code { padding: 0; background: none }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line) }
section { border-top: 1px solid var(--line); margin-top: 2rem }
@media (max-width: 40rem) { h2, td { overflow-wrap: anywhere } tr { display: block; border-bottom: 1px solid var(--line) } td { display: block; border: 0 } }
`

/** The page loads no files, runs no scripts and cannot be framed. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

export function sendPage(reply: FastifyReply, page: string): void {
  reply.headers(HEADERS).send(page)
}

/** Wraps HTML content in a page. */
export function pageOf(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${content}
</body>
</html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
