import { launchBrowser } from '@tidegate/fixtures/browser'
import { freePort } from '@tidegate/fixtures/free-port'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { configFile, type ServerProcess, startProcess } from '../../server/test/process.js'
import { WORDS } from '../src/words/words.js'
import { openPage } from './browser.js'

/* The page while the service or the store is unavailable, and its recovery. */

const en = WORDS.en.dashboard

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

const textIs = (page: Page, selector: string, text: string) =>
  page.waitForFunction(
    ([selector, text]) => document.querySelector(selector!)?.textContent === text,
    [selector, text],
  )

const opacityOf = (page: Page) => page.locator('.tiles').evaluate((tiles) => getComputedStyle(tiles).opacity)

/**
 * Starts a service for one test. These tests mostly wait, so they run concurrently; polling then needs the `expect` of the
 * test.
 */
async function startFor({ onTestFinished }: TestContext): Promise<ServerProcess> {
  const service = await startProcess([])
  onTestFinished(() => service.stop())
  return service
}

describe.concurrent('a frozen service with open connections', () => {
  it('dims the last numbers in Live until it continues', async (test) => {
    const service = await startFor(test)
    const { page, close } = await openPage(browser, service, '/#/live')
    await textIs(page, '[data-fact=state]', en.live.states.well)
    await test.expect.poll(() => opacityOf(page)).toBe('1')
    service.process.kill('SIGSTOP')
    await textIs(page, '[data-fact=state]', en.live.reconnecting)
    await test.expect.poll(async () => Number(await opacityOf(page))).toBeLessThan(0.5)
    service.process.kill('SIGCONT')
    await textIs(page, '[data-fact=state]', en.live.states.well)
    await test.expect.poll(() => opacityOf(page)).toBe('1')
    await close()
  })

  it.for(['/key?key=k', '/policies'])(
    'is reported in %s and polled with one request at a time',
    async (path, test) => {
      const service = await startFor(test)
      const { page, close } = await openPage(browser, service, `/#${path}`)
      await page.locator('.card').first().waitFor()
      const pending = new Set<unknown>()
      const pendingCounts: number[] = []
      page.on('request', (request) => pendingCounts.push(pending.add(request).size))
      page.on('requestfailed', (request) => pending.delete(request))
      page.on('requestfinished', (request) => pending.delete(request))
      service.process.kill('SIGSTOP')
      await page.getByText(en.gate.unreachable).waitFor()
      // The request that failed may have been sent before the listeners were added.
      await page.waitForRequest(/\/admin\//)
      expect(Math.max(...pendingCounts)).toBe(1)
      await close()
    },
  )

  it('fails a race and a check with a request to try again, and removes the last race', async (test) => {
    const service = await startFor(test)
    const { page, close } = await openPage(browser, service, '/#/race')
    const start = page.getByRole('button', { name: en.race.start })
    await start.click()
    await page.locator('[data-fact=tidegate-admitted]').waitFor()
    service.process.kill('SIGSTOP')
    await start.click()
    await page.getByText(en.gate.tryAgain).waitFor()
    await test.expect.poll(() => page.locator('[data-fact=tidegate-admitted]').count()).toBe(0)
    service.process.kill('SIGCONT')
    await page.getByRole('link', { name: en.views.key }).click()
    await page.getByLabel(en.key.label, { exact: true }).fill('k')
    await page.keyboard.press('Enter')
    const checkNow = page.getByRole('button', { name: en.key.checkIn('token_bucket') })
    await checkNow.waitFor()
    service.process.kill('SIGSTOP')
    await checkNow.click()
    await textIs(page, '[data-fact=message]', `${en.key.failed} ${en.gate.tryAgain}`)
    await close()
  })
})

describe('while the store is unavailable', () => {
  let service: ServerProcess
  let file: ReturnType<typeof configFile>
  beforeAll(async () => {
    file = configFile(`
store: redis://127.0.0.1:${await freePort()}
policies:
  open: { algorithm: fixed-window, limit: 5, window: 1d }
  local: { algorithm: fixed-window, limit: 5, window: 1d, onStoreFailure: local }
  closed: { algorithm: fixed-window, limit: 5, window: 1d, onStoreFailure: closed }
`)
    service = await startProcess(['--config', file.path])
  })
  afterAll(async () => {
    await service?.stop()
    file?.remove()
  })

  it.each(['en', 'ko'] as const)(
    'a check reports its fallback and whether it was counted, in %s',
    async (lang) => {
      const { page, close } = await openPage(browser, service, `/#/key?key=k&lang=${lang}`)
      const words = WORDS[lang].dashboard.key
      for (const [policy, text] of [
        ['open', words.allowedOpen],
        ['local', words.allowedLocal],
        ['closed', words.deniedClosed],
      ] as const) {
        await page.getByRole('button', { name: words.checkIn(policy), exact: true }).click()
        await textIs(page, '[data-fact=message]', `${policy}: ${text}`)
      }
      await page.getByRole('button', { name: words.reset }).click()
      await page.getByRole('button', { name: words.confirmYes, exact: true }).click()
      await textIs(page, '[data-fact=message]', `${words.failed} ${words.unavailable}`)
      const card = page.getByRole('region', { name: 'open', exact: true })
      await expect.poll(() => card.locator('p').allTextContents()).toStrictEqual([words.unknown])
      await close()
    },
  )

  it.each(['en', 'ko'] as const)('the instances are unknown, in %s', async (lang) => {
    const { page, close } = await openPage(browser, service, `/#/live?lang=${lang}`)
    const { live } = WORDS[lang].dashboard
    await page.locator('.state-line.store-down').waitFor()
    await textIs(page, '[data-fact=instances]', live.unknownInstances)
    await page.getByText(live.noInstances).waitFor()
    await close()
  })
})
