import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { launchBrowser } from '@tidegate/fixtures/browser'
import { expect, it } from 'vitest'

const folders = {
  '/core/': fileURLToPath(new URL('../../core/dist/esm/', import.meta.url)),
  '/client/': fileURLToPath(new URL('../dist/esm/', import.meta.url)),
}
const PAGE = `<!doctype html><link rel="icon" href="data:,"><script type="importmap">{ "imports": { "@tidegate/core": "/core/index.js" } }</script>`

// As text, because the test runner would transform a function.
const IN_THE_BROWSER = `(async () => {
  const { createRemoteLimiter, withBackoff, withCache } = await import('/client/index.js')
  const limiter = createRemoteLimiter({ url: location.origin, policy: 'per-user' })
  const one = await limiter.check('user:1')
  const many = await Promise.all([limiter.check('user:1'), limiter.check('user:2', 2)])
  const waits = []
  const patient = withCache(withBackoff(undefined, { firstBackoffMs: 1, onWait: (wait) => waits.push(wait.status) }))
  const texts = []
  for (let i = 0; i < 3; i++) texts.push(await (await patient('/data')).text())
  return { decisions: [one, ...many].map(({ cost, remaining }) => [cost, remaining]), waits, texts, node: typeof process }
})()`

it('the built package runs in a browser, without Node.js modules', async () => {
  const paths: string[] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    if (path === '/') return response.setHeader('content-type', 'text/html').end(PAGE)
    const folder = Object.entries(folders).find(([prefix]) => path.startsWith(prefix))
    if (folder !== undefined) {
      const source = await readFile(folder[1] + path.slice(folder[0].length))
      return response.setHeader('content-type', 'text/javascript').end(source)
    }
    paths.push(path)
    if (path === '/data') {
      if (paths.filter((one) => one === path).length === 1) return response.writeHead(503).end()
      return response.setHeader('cache-control', 'max-age=60').end('data')
    }
    const { checks, permits } = JSON.parse(body)
    const decisionBody = (cost: number) => ({
      allowed: true,
      limit: 10,
      remaining: 10 - cost,
      resetAfterSeconds: 1,
    })
    const results = checks?.map((check: { permits: number }) => decisionBody(check.permits))
    response.end(JSON.stringify(results === undefined ? decisionBody(permits) : { allowed: true, results }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    const failures: string[] = []
    page.on('pageerror', (error) => failures.push(String(error)))
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    expect(await page.evaluate(IN_THE_BROWSER)).toStrictEqual({
      decisions: [
        [1, 9],
        [1, 9],
        [2, 8],
      ],
      waits: [503],
      texts: ['data', 'data', 'data'],
      node: 'undefined',
    })
    expect(failures).toStrictEqual([])
    const check = '/api/v1/rate-limit/check'
    expect(paths).toStrictEqual([check, `${check}/batch`, '/data', '/data'])
  } finally {
    await browser.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})
