import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launchBrowser } from '@tidegate/fixtures/browser'
import { expect, it } from 'vitest'
import { listen } from '../../test/listen.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))

// npm may install the package at the root or in packages/http.
const hashes = dirname(createRequire(import.meta.url).resolve('@noble/hashes/sha2.js'))
const hashesUrl = `/${relative(root, hashes)}/esm`

/** The import map for the packages. */
const IMPORTS = {
  '@tidegate/core': '/packages/core/dist/esm/index.js',
  '@tidegate/http': '/packages/http/dist/esm/index.js',
  '@tidegate/http/fetch': '/packages/http/dist/esm/frameworks/fetch.js',
  '@tidegate/http/decorator': '/packages/http/dist/esm/decorator/decorator.js',
  '@noble/hashes/': `${hashesUrl}/`,
  '@noble/hashes/crypto': `${hashesUrl}/crypto.js`,
}

// As text, because the test runner would transform a function.
const IN_THE_BROWSER = `(async () => {
  const { fixedWindow } = await import('@tidegate/core')
  const { rateLimit } = await import('@tidegate/http/fetch')
  const { RateLimit } = await import('@tidegate/http/decorator')
  const policy = fixedWindow({ limit: 1, window: '365d', name: 'one' })
  const handle = rateLimit({ policy, key: 'session:{sha256(header.x-session)}' })(() => new Response('hello'))
  const statuses = []
  for (const session of ['a', 'a', 'b', undefined]) {
    const headers = session === undefined ? {} : { 'x-session': session }
    statuses.push((await handle(new Request('http://localhost/', { headers }))).status)
  }
  const limited = RateLimit({ limit: 1, window: '1h' })(() => 'called', { kind: 'method', name: 'call' })
  const calls = [limited()]
  try { limited() } catch (error) { calls.push(error.code) }
  return { statuses, calls, node: typeof process }
})()`

it('entries that are not for Node.js run in a browser', async () => {
  const { port, close } = await listen(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    if (path === '/') {
      const map = `<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`
      return response.setHeader('content-type', 'text/html').end(`<!doctype html>${map}`)
    }
    const source = await readFile(join(root, path)).catch(() => undefined)
    if (source === undefined) return response.writeHead(404).end()
    return response.setHeader('content-type', 'text/javascript').end(source)
  })
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    const messages: string[] = []
    page.on('pageerror', (error) => messages.push(String(error)))
    page.on('console', (message) => message.type() === 'warning' && messages.push(message.text()))
    await page.goto(`http://127.0.0.1:${port}/`)
    expect(await page.evaluate(IN_THE_BROWSER)).toStrictEqual({
      statuses: [200, 429, 200, 200],
      calls: ['called', 'RATE_LIMIT_EXCEEDED'],
      node: 'undefined',
    })
    expect(messages).toStrictEqual([expect.stringContaining('TidegateWarning [TIDEGATE_KEY_UNDEFINED]')])
  } finally {
    await browser.close()
    await close()
  }
})
