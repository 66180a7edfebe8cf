import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

export interface OpenedPage {
  readonly page: Page
  /** Page errors, console errors and warnings, failed requests, and requests to other origins. */
  readonly faults: string[]
  close(): Promise<void>
}

/** A service and the header with its admin token. */
export interface AdministeredSite {
  readonly url: string
  readonly admin: { readonly authorization: string }
}

/** Opens the page in a new context, with the admin token in the address if `site` has one. */
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
  await waitForEffects(page)
  return { page, faults, close: () => context.close() }
}

/** Waits until the effects of the last render have run: they create the charts and subscribe to the clock. */
export async function waitForEffects(page: Page): Promise<void> {
  await page.evaluate(() => new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve))))
}

function withToken(hash: string, { admin }: AdministeredSite): string {
  return `${hash}${hash.includes('?') ? '&' : '?'}token=${admin.authorization.replace('Bearer ', '')}`
}

/** Leaves out requests of the dashboard that were aborted by leaving a view. */
export function faultsIn(faults: readonly string[]): string[] {
  return faults.filter((fault) => !/^failed: .*\/api\/v1\/admin\//.test(fault))
}

/** Violations that matter: serious and critical ones, and the order of headings. */
export function seriousOf<T extends { readonly id: string; readonly impact?: string | null }>(
  violations: readonly T[],
): T[] {
  return violations.filter(
    ({ id, impact }) => impact === 'serious' || impact === 'critical' || id === 'heading-order',
  )
}
