import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

export interface OpenedPage {
  readonly page: Page
  /** Everything that went wrong: errors, warnings of the console, requests that failed or left the site. */
  readonly faults: string[]
  close(): Promise<void>
}

/** A service, and the header with its admin token. */
export interface AdministeredSite {
  readonly url: string
  readonly admin: { readonly authorization: string }
}

/** Opens the page in a fresh context; with the link of an administrator, if the site has an admin token. */
export async function openPage(
  browser: Browser,
  site: string | AdministeredSite,
  hash: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const siteUrl = typeof site === 'string' ? site : site.url
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
  await page.goto(siteUrl + (typeof site === 'string' ? hash : withToken(hash, site)))
  await page.locator('h1').waitFor()
  return { page, faults, close: () => context.close() }
}

function withToken(hash: string, { admin }: AdministeredSite): string {
  return `${hash}${hash.includes('?') ? '&' : '?'}token=${admin.authorization.replace('Bearer ', '')}`
}

/** Leaving a view aborts its requests, which is not a fault. */
export function faultsIn(faults: readonly string[]): string[] {
  return faults.filter((fault) => !/^failed: .*\/api\/v1\/admin\//.test(fault))
}
