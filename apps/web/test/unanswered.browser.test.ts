import { launchBrowser } from '@tidegate/fixtures/browser'
import { freePort } from '@tidegate/fixtures/free-port'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { configFile, type ServerProcess, startProcess } from '../../server/test/process.js'
import { WORDS } from '../src/words/words.js'
import { openPage } from './browser.js'

/* What the page says while nobody answers, and that it goes on when somebody does again. */

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

/** One of its own for each test. They wait for most of their time, so they do it together. */
async function startFor({ onTestFinished }: TestContext): Promise<ServerProcess> {
  const service = await startProcess([])
  onTestFinished(() => service.stop())
  return service
}

describe.concurrent('a service that is frozen, its connections open,', () => {
  it('is shown as lost in Live, its last numbers dimmed, and as well when it goes on', async (test) => {
    const service = await startFor(test)
    const { page, close } = await openPage(browser, service, '/#/live')
    await textIs(page, '[data-fact=state]', en.live.states.well)
    expect(await opacityOf(page)).toBe('1')
    service.process.kill('SIGSTOP')
    await textIs(page, '[data-fact=state]', en.live.reconnecting)
    expect(Number(await opacityOf(page))).toBeLessThan(0.5)
    service.process.kill('SIGCONT')
    await textIs(page, '[data-fact=state]', en.live.states.well)
    expect(await opacityOf(page)).toBe('1')
    await close()
  })

  it.for(['/key?key=k', '/policies'])(
    'is said not to answer in %s, and asked once at a time until it does',
    async (path, test) => {
      const service = await startFor(test)
      const { page, close } = await openPage(browser, service, `/#${path}`)
      await page.locator('.card').first().waitFor()
      service.process.kill('SIGSTOP')
      const waiting = new Set<unknown>()
      const most: number[] = []
      page.on('request', (request) => most.push(waiting.add(request).size))
      page.on('requestfailed', (request) => waiting.delete(request))
      await page.getByText(en.gate.unreachable).waitFor()
      expect(Math.max(...most)).toBe(1)
      await close()
    },
  )

  it('is to be tried again by whoever started something, and shows no race that was before', async (test) => {
    const service = await startFor(test)
    const { page, close } = await openPage(browser, service, '/#/race')
    const start = page.getByRole('button', { name: en.race.start })
    await start.click()
    await page.locator('[data-fact=ours-admitted]').waitFor()
    service.process.kill('SIGSTOP')
    await start.click()
    await page.getByText(en.gate.tryAgain).waitFor()
    expect(await page.locator('[data-fact=ours-admitted]').count()).toBe(0)
    service.process.kill('SIGCONT')
    await page.getByRole('link', { name: en.views.key }).click()
    await page.getByLabel(en.key.label, { exact: true }).fill('k')
    await page.keyboard.press('Enter')
    const tryIt = page.getByRole('button', { name: en.key.tryIn('token_bucket') })
    await tryIt.waitFor()
    service.process.kill('SIGSTOP')
    await tryIt.click()
    await textIs(page, '[data-fact=says]', `${en.key.failed} ${en.gate.tryAgain}`)
    await close()
  })
})

describe('while the store does not answer,', () => {
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
    'a try says what became of it, and whether it counts, in %s',
    async (lang) => {
      const { page, close } = await openPage(browser, service, `/#/key?key=k&lang=${lang}`)
      const words = WORDS[lang].dashboard.key
      for (const [policy, text] of [
        ['open', words.triedOpen],
        ['local', words.triedLocal],
        ['closed', words.triedClosed],
      ] as const) {
        await page.getByRole('button', { name: words.tryIn(policy), exact: true }).click()
        await textIs(page, '[data-fact=says]', `${policy}: ${text}`)
      }
      await close()
    },
  )

  it.each(['en', 'ko'] as const)('nobody is said to share it, in %s', async (lang) => {
    const { page, close } = await openPage(browser, service, `/#/live?lang=${lang}`)
    const { live } = WORDS[lang].dashboard
    await page.locator('.state-line.store-down').waitFor()
    await textIs(page, '[data-fact=instances]', live.unknownInstances)
    await page.getByText(live.noInstances).waitFor()
    await close()
  })
})
