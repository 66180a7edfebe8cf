import { launchBrowser } from '@tidegate/fixtures/browser'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestService } from '../../../test/start-service.js'

describe('/docs in a browser', () => {
  let service: TestService
  let browser: Browser
  let page: Page
  const faults: string[] = []

  beforeAll(async () => {
    service = await startService()
    browser = await launchBrowser()
    page = await browser.newPage()
    page.on('pageerror', (error) => faults.push(String(error)))
    // Violations of the content security policy are logged as errors.
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text())
    })
    page.on('requestfailed', (request) => faults.push(`failed: ${request.url()}`))
    page.on('request', (request) => {
      const { url } = { url: request.url() }
      if (!url.startsWith(service.url) && !url.startsWith('data:')) faults.push(`left the site: ${url}`)
    })
    await page.goto(`${service.url}/docs`)
    await page.locator('.opblock').first().waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await service?.close()
  })

  it('is sent with the content security policy of the dashboard', async () => {
    const [docs, dashboard] = [await service.get('/docs'), await service.get('/')]
    expect(docs.status).toBe(200)
    expect(docs.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(docs.headers.get('x-content-type-options')).toBe('nosniff')
    const policy = docs.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toBe(dashboard.headers.get('content-security-policy'))
  })

  it('lists the operations by group', async () => {
    const groups = await page.locator('.opblock-tag').allInnerTexts()
    expect(groups.map((text) => text.split('\n')[0])).toStrictEqual([
      'rate limit',
      'administration',
      'operation',
    ])
    expect(await page.locator('.opblock').count()).toBe(22)
  })

  it('links to the dashboard', async () => {
    const href = await page.getByRole('link', { name: 'Dashboard' }).getAttribute('href')
    expect(new URL(href!, page.url()).pathname).toBe('/')
  })

  it('sends a request with the admin token', async () => {
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    const token = service.admin.authorization.replace('Bearer ', '')
    await page.locator('#auth-bearer-value').fill(token)
    await page.locator('.auth-container button[type=submit]').first().click()
    await page.locator('.btn-done').first().click()
    const operation = page.locator('#operations-administration-listPolicies')
    await operation.locator('.opblock-summary-control').click()
    const sent = page.waitForResponse(`${service.url}/api/v1/admin/policies`)
    await operation.locator('.execute').click()
    const response = await sent
    expect(response.status()).toBe(200)
    const live = operation.locator('.live-responses-table .response-col_status').last()
    await live.waitFor()
    expect(await live.innerText()).toContain('200')
  })

  it('is dark if the dashboard is: by choice, else as the system', async () => {
    const isDark = () => page.evaluate("document.documentElement.classList.contains('dark-mode')")
    expect(await isDark()).toBe(false)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect.poll(isDark).toBe(true)
    await page.evaluate("localStorage.setItem('tidegate-theme', 'light')")
    await page.reload()
    await page.locator('.opblock').first().waitFor()
    expect(await isDark()).toBe(false)
  })

  it('violates no content security policy and loads nothing from elsewhere', () => {
    expect(faults).toStrictEqual([])
  })
})
