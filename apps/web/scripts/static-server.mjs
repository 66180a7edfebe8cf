// The page as static files, on this machine only, under the policy that it promises to live with.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const site = fileURLToPath(new URL('../dist/', import.meta.url))

/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Nothing inline, nothing from elsewhere. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Serves what was built. Port 0 takes any free one.
 * @param {number} port
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function serveSite(port) {
  const server = createServer(async (request, response) => {
    response.setHeader('content-security-policy', CONTENT_SECURITY_POLICY)
    response.setHeader('x-content-type-options', 'nosniff')
    const file = fileOf(request.url ?? '/')
    const type = file && TYPES[extname(file)]
    if (!type || (request.method !== 'GET' && request.method !== 'HEAD')) return response.writeHead(404).end()
    try {
      const content = await readFile(join(site, file))
      response.setHeader('content-type', type)
      response.end(request.method === 'HEAD' ? undefined : content)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(undefined))
  })
  const address = server.address()
  const actual = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://127.0.0.1:${actual}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * The file an address names, or nothing if it is not inside the site.
 * @param {string} url
 */
function fileOf(url) {
  try {
    const path = normalize(decodeURIComponent(new URL(url, 'http://localhost').pathname))
    if (path.includes('\0') || path.includes('..')) return undefined
    return path === '/' ? 'index.html' : path.slice(1)
  } catch {
    return undefined
  }
}
