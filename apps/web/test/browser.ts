import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

export interface OpenedPage {
  readonly page: Page
  /** Everything that went wrong: errors, warnings of the console, requests that failed or left the site. */
  readonly faults: string[]
  close(): Promise<void>
}

/** A fresh visitor at an address of the site. */
export async function openPage(
  browser: Browser,
  siteUrl: string,
  hash: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ locale: 'en-US', colorScheme: 'light', ...options })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('requestfailed', (request) => faults.push(`failed: ${request.url()}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(siteUrl)) faults.push(`left the site: ${request.url()}`)
  })
  await page.goto(siteUrl + hash)
  await page.locator('h1').waitFor()
  return { page, faults, close: () => context.close() }
}

/** Whoever leaves a view asks no longer: that a question is given up then is no fault. */
export function faultsIn(faults: readonly string[]): string[] {
  return faults.filter((fault) => !/^failed: .*\/api\/v1\/admin\//.test(fault))
}
