import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { launchBrowser } from '@tidegate/fixtures/browser'
import { expect, it } from 'vitest'

const dist = fileURLToPath(new URL('../dist/esm/', import.meta.url))

// As text, because the test runner would transform a function.
const IN_THE_BROWSER = `(async () => {
  const core = await import('/index.js')
  const testing = await import('/testing/index.js')
  const clock = new core.ManualClock(0)
  const store = new core.MemoryStore({ clock })
  const limiter = core.createLimiter({ store, policy: core.tokenBucket({ capacity: 2, refillRate: 1 }) })
  const allowed = [1, 2, 3].map(() => limiter.check('user:123').allowed)
  clock.advance(1000)
  allowed.push(limiter.check('user:123').allowed)
  const daily = core.fixedWindow({ limit: 2, window: 'day', timeZone: 'Asia/Seoul' })
  const { resetAfterMs } = store.check({ policy: daily, key: 'user:123', cost: 1 })
  return { allowed, resetAfterMs, testing: Object.keys(testing).sort(), node: typeof process }
})()`

it('the built package runs in a browser, without Node.js modules', async () => {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname
    if (path === '/') return response.setHeader('content-type', 'text/html').end('<!doctype html>')
    try {
      const source = await readFile(`${dist}${path.slice(1)}`)
      response.setHeader('content-type', 'text/javascript').end(source)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    const failures: string[] = []
    page.on('pageerror', (error) => failures.push(String(error)))
    page.on('requestfailed', (request) => failures.push(request.url()))
    await page.goto(`http://127.0.0.1:${port}/`)
    const result = await page.evaluate(IN_THE_BROWSER)
    expect(result).toStrictEqual({
      allowed: [true, true, false, true],
      // One second after 9:00 in Seoul.
      resetAfterMs: 15 * 3_600_000 - 1000,
      testing: [
        'ReferenceStore',
        'TEST_ENVIRONMENT',
        'findOverAdmission',
        'randomFrom',
        'randomReservationTrace',
        'randomSlotTrace',
        'randomTrace',
        'runReservationTrace',
        'runSlotTrace',
        'runTrace',
        'testStore',
      ],
      node: 'undefined',
    })
    expect(failures).toStrictEqual([])
  } finally {
    await browser.close()
    await new Promise((resolve) => server.close(resolve))
  }
})
