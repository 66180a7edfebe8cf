import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Where `scripts/setup.mjs` puts the page: beside the compiled service, with which it is published. */
export const SITE_FOLDER = fileURLToPath(new URL('../../dist/page/', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Nothing inline, nothing from elsewhere, and no other page may show this one in a frame. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
}

interface SiteFile {
  readonly path: string
  readonly content: Buffer
  readonly type: string
  readonly etag: string
  /** Made when it is first asked for. */
  gzipped?: Buffer
}

/**
 * Serves the page, if it was built. Its files are few and small: they are read once, and each is a route by itself, so
 * no path can lead to any other. Answers whether there is one.
 */
export function siteRoutes(app: FastifyInstance, folder: string): boolean {
  const files = readSite(folder)
  for (const file of files) {
    const path = file.path === '/index.html' ? '/' : file.path
    const schema = { hide: true, summary: 'The page.' }
    app.get(path, { schema, exposeHeadRoute: true }, (request, reply) => send(file, request, reply))
  }
  return files.length > 0
}

/** Nothing at all if it has no start: what is there is then no page. */
function readSite(folder: string): SiteFile[] {
  let names: string[]
  try {
    names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
  if (!names.includes('index.html')) return []
  return names.flatMap((name) => {
    const type = TYPES[extname(name)]
    if (type === undefined) return []
    const content =
      name === 'index.html'
        ? marked(readFileSync(join(folder, name), 'utf8'))
        : readFileSync(join(folder, name))
    const etag = `"${hash('sha256', content, 'base64url').slice(0, 22)}"`
    return [{ path: `/${name.replaceAll('\\', '/')}`, content, type, etag }]
  })
}

/** The same files are also a site by itself, without a service: by this the page knows that here is one. */
function marked(html: string): Buffer {
  return Buffer.from(html.replace('</head>', '<meta name="tidegate-service" content="here" /></head>'))
}

function send(file: SiteFile, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(HEADERS).headers({
    'content-type': file.type,
    etag: file.etag,
    // The names of assets have a hash of what is in them.
    'cache-control': file.path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  if (isKnown(request.headers['if-none-match'], file.etag)) return void reply.code(304).send()
  if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(request.headers['accept-encoding'] ?? '')) {
    return void reply.send(file.content)
  }
  file.gzipped ??= gzipSync(file.content, { level: 9 })
  reply.header('content-encoding', 'gzip').send(file.gzipped)
}

function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
