// Serves the built page on this machine, without the service, under the content security policy of the service.
import { fileURLToPath } from 'node:url'
import { preview } from 'vite'

/** Allows nothing inline and nothing from other origins. */
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
 * Serves the build. Port 0 picks a free port.
 * @param {number} port
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function serveSite(port) {
  const server = await preview({
    root: fileURLToPath(new URL('..', import.meta.url)),
    logLevel: 'silent',
    // Unknown paths are 404 instead of the page.
    appType: 'mpa',
    preview: {
      host: '127.0.0.1',
      port,
      strictPort: true,
      headers: { 'content-security-policy': CONTENT_SECURITY_POLICY, 'x-content-type-options': 'nosniff' },
    },
  })
  const address = server.httpServer.address()
  const actualPort = typeof address === 'object' && address !== null ? address.port : port
  return { url: `http://127.0.0.1:${actualPort}/`, close: () => server.close() }
}
