import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ServerProcess, startProcess } from '../../server/test/process.js'
import { WORDS } from '../src/words/words.js'
import { launchBrowser, openPage } from './browser.js'

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

describe('a service that is frozen, its connections open,', () => {
  let service: ServerProcess
  beforeEach(async () => {
    service = await startProcess([])
  })
  afterEach(() => service.stop())

  it('is shown as lost in Live, and as well when it goes on', async () => {
    const { page, close } = await openPage(browser, service.url, '/#/live')
    await textIs(page, '[data-fact=state]', en.live.states.well)
    const startMs = performance.now()
    service.process.kill('SIGSTOP')
    await textIs(page, '[data-fact=state]', en.live.reconnecting)
    expect(performance.now() - startMs).toBeLessThan(8000)
    service.process.kill('SIGCONT')
    await textIs(page, '[data-fact=state]', en.live.states.well)
    await close()
  })

  it.each(['/key?key=k', '/policies'])(
    'is said not to answer in %s, and asked once at a time until it does',
    async (path) => {
      const { page, close } = await openPage(browser, service.url, `/#${path}`)
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
})
