import { setTimeout as sleep } from 'node:timers/promises'
import { AxeBuilder } from '@axe-core/playwright'
import { launchBrowser } from '@tidegate/fixtures/browser'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configFile, type ServerProcess, startProcess } from '../../server/test/process.js'
import { CONTENT_SECURITY_POLICY, serveSite } from '../scripts/static-server.mjs'
import { formatDuration } from '../src/format.js'
import { WORDS } from '../src/words/words.js'
import { faultsIn, openPage } from './browser.js'
import { eventAt, startFastService, told } from './fast-service.js'

const FILE = `
default: per-user
policies:
  per-user: { algorithm: fixed-window, limit: 5, window: 1d }
  login: { algorithm: sliding-window-log, limit: 5, window: 15m, onStoreFailure: closed, keys: secret }
  as_long_as_a_name_may_be_0123456789_0123456789_0123456789_012345: { algorithm: fixed-window, limit: 1000000000, window: 366d }
rules:
  - { name: login, match: { path: /login, methods: [POST] }, key: "ip:{ip}", policy: login }
`
const EVIL = '<img src=x onerror=alert(1)>'
const en = WORDS.en.dashboard

let browser: Browser
let open: ServerProcess
let closed: ServerProcess
let file: ReturnType<typeof configFile>

beforeAll(async () => {
  file = configFile(FILE)
  open = await startProcess(['--config', file.path])
  closed = await startProcess([], { TIDEGATE_ADMIN_TOKEN: 'the-right-admin-token' })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await open?.stop()
  await closed?.stop()
  file?.remove()
})

const check = (key: string, policy = 'per-user', { url } = open) =>
  fetch(`${url}/api/v1/rate-limit/check?policy=${policy}&key=${encodeURIComponent(key)}`)

const fact = (page: Page, name: string) => page.locator(`[data-fact="${name}"]`)

/** Words that stand on more than one line. */
function brokenWords(element: Element): string[] {
  return [...element.querySelectorAll('th')].flatMap(({ firstChild: text }) =>
    [...(text?.textContent ?? '').matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
      const range = document.createRange()
      range.setStart(text!, index)
      range.setEnd(text!, index + word.length)
      return range.getClientRects().length > 1 ? [word] : []
    }),
  )
}

const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 360, height: 740 }
const looks = [
  { lang: 'en', colorScheme: 'light', viewport: DESKTOP },
  { lang: 'en', colorScheme: 'dark', viewport: PHONE },
  { lang: 'ko', colorScheme: 'light', viewport: PHONE },
  { lang: 'ko', colorScheme: 'dark', viewport: DESKTOP },
] as const

describe.each(looks)(
  'in $lang, $colorScheme, $viewport.width pixels wide',
  ({ lang, colorScheme, viewport }) => {
    const words = WORDS[lang].dashboard
    it.each([
      ['/live', words.live.title],
      ['/key', words.key.title],
      [`/key?key=${encodeURIComponent(EVIL)}`, words.key.title],
      ['/policies', words.policies.title],
      ['/race', words.race.title],
    ])('%s is whole, without a fault and fit for everybody', async (path, title) => {
      for (let i = 0; i < 7; i++) await check(EVIL)
      const hash = `/#${path}${path.includes('?') ? '&' : '?'}lang=${lang}`
      const { page, faults, close } = await openPage(browser, open, hash, { colorScheme, viewport })
      await page.locator('.dashboard').waitFor()
      expect(await page.locator('h1').textContent()).toBe(title)
      if (path === '/live') {
        await page.locator('.tiles').waitFor()
        expect(await fact(page, 'state').textContent()).toBe(words.live.states.well)
        // No number is out of sight.
        const table = page.getByRole('region', { name: words.live.byPolicy })
        expect(await table.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0)
        expect(await table.locator('thead').evaluate(brokenWords)).toStrictEqual([])
      }
      if (path.startsWith('/key?')) await fact(page, 'key').waitFor()
      if (path === '/policies') await fact(page, 'reload').waitFor()
      if (path === '/race') {
        await page.getByRole('button', { name: words.race.start }).click()
        await fact(page, 'ours-admitted').waitFor()
      }
      expect(await page.evaluate('document.documentElement.lang')).toBe(lang)
      expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(colorScheme)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width)
      const { violations } = await new AxeBuilder({ page }).analyze()
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      expect(serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toStrictEqual([])
      expect(faultsIn(faults)).toStrictEqual([])
      await close()
    })
  },
)

describe('Live', () => {
  it('shows within two seconds what has changed', async () => {
    const { page, faults, close } = await openPage(browser, open, '/#/live')
    await fact(page, 'total:per-user').waitFor()
    const before = Number(await fact(page, 'total:per-user').textContent())
    const startMs = performance.now()
    for (let i = 0; i < 7; i++) await check('somebody')
    await page.waitForFunction(
      (total) => document.querySelector('[data-fact="total:per-user"]')?.textContent === String(total),
      before + 7,
      { timeout: 10_000 },
    )
    expect(performance.now() - startMs).toBeLessThan(2000)
    await page
      .getByRole('link', { name: en.live.lookUp('somebody') })
      .first()
      .waitFor()
    expect(faultsIn(faults)).toStrictEqual([])
    await close()
  })

  it('does not let a key look like another, nor turn around the question whether to reset it', async () => {
    const key = 'user:\u202Eecila'
    const shown = 'user:\\u202Eecila'
    const { page, close } = await openPage(browser, open, '/#/live')
    await page.locator('.tiles').waitFor()
    for (let i = 0; i < 200; i++) await check(key)
    await page
      .getByRole('link', { name: en.live.lookUp(shown) })
      .first()
      .click()
    await fact(page, 'key').waitFor()
    expect(await fact(page, 'key').textContent()).toBe(shown)
    await page.getByRole('button', { name: en.key.reset }).click()
    expect(await page.getByRole('alertdialog').locator('p').textContent()).toBe(en.key.confirm(shown))
    await page.getByRole('button', { name: en.key.confirmYes }).click()
    await page.waitForFunction(() => document.querySelector('[data-fact="says"]')?.textContent !== '')
    expect((await check(key)).status).toBe(200)
    await close()
  })

  it('has keys as text, whatever they are, and secret ones as hashes', async () => {
    const { page, faults, close } = await openPage(browser, open, '/#/live')
    await page.locator('.tiles').waitFor()
    page.on('dialog', (dialog) => faults.push(`dialog: ${dialog.message()}`))
    for (let i = 0; i < 60; i++) await check(EVIL)
    for (let i = 0; i < 60; i++) await check('a-name-to-keep', 'login')
    await page.locator('.key-name', { hasText: EVIL }).first().waitFor()
    await page.locator('.key-name', { hasText: 'sha256:' }).first().waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    expect(await page.content()).not.toContain('a-name-to-keep')
    await page.locator('a.key-name', { hasText: EVIL }).first().click()
    await fact(page, 'key').waitFor()
    expect(await fact(page, 'key').textContent()).toBe(EVIL)
    await page.getByRole('button', { name: en.key.reset }).click()
    expect(await page.locator('.confirm p').textContent()).toBe(en.key.confirm(EVIL))
    expect(await page.locator('main img').count()).toBe(0)
    expect(faultsIn(faults)).toStrictEqual([])
    await close()
  })

  it('says in words when the connection is lost, and goes on when it is there again', async () => {
    const stateIs = (text: string) =>
      page.waitForFunction((text) => document.querySelector('[data-fact=state]')?.textContent === text, text)
    const first = await startFastService(open)
    const { page, close } = await openPage(browser, first, '/#/live')
    await told(() => first.tell(eventAt(1)))
    await stateIs(en.live.states.well)
    await first.close()
    await stateIs(en.live.reconnecting)
    const second = await startFastService(open, Number(new URL(first.url).port))
    try {
      await told(() => second.tell(eventAt(2)))
      await stateIs(en.live.states.well)
    } finally {
      await close()
      await second.close()
    }
  })

  it('says what the policies do meanwhile when the store does not answer', async () => {
    const fast = await startFastService(open)
    const { page, close } = await openPage(browser, fast, '/#/live')
    try {
      await told(() => fast.tell({ ...eventAt(1), state: 'store-down', breaker: 'open', instances: [] }))
      await page.locator('.state-line.store-down').waitFor()
      const { live } = en
      expect(await fact(page, 'state').textContent()).toBe(
        `${live.states['store-down']} ${live.meanwhile(live.mode(live.modes.open, live.allPolicies))}`,
      )
      expect(await fact(page, 'breaker').textContent()).toBe(live.breakers.open)
      await page.getByText(live.noInstances).waitFor()
    } finally {
      await close()
      await fast.close()
    }
  })
})

describe('a key', () => {
  it('is looked up, tried and reset by keyboard alone, and reset asks first', async () => {
    const { page, faults, close } = await openPage(browser, open, '/#/key')
    await page.getByLabel(en.key.label, { exact: true }).focus()
    await page.keyboard.type('by-keyboard')
    await page.keyboard.press('Enter')
    await fact(page, 'remaining:per-user').waitFor()
    expect(await fact(page, 'remaining:per-user').textContent()).toBe(en.key.remaining('5', '5'))
    const once = page.getByRole('button', { name: en.key.tryIn('per-user') })
    for (let i = 1; i <= 6; i++) {
      await once.focus()
      await page.keyboard.press('Enter')
      await remaining(page, String(Math.max(0, 5 - i)))
    }
    await page.waitForFunction(() => document.querySelector('.says.problem') !== null)
    await page.getByRole('button', { name: en.key.reset }).focus()
    await page.keyboard.press('Enter')
    // The careful answer has the focus.
    await page.keyboard.press('Enter')
    expect(await page.locator('.confirm').count()).toBe(0)
    await remaining(page, '0')
    // Each time the focus is back where it was.
    expect(await focused(page)).toBe(en.key.reset)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Escape')
    expect(await page.locator('.confirm').count()).toBe(0)
    expect(await focused(page)).toBe(en.key.reset)
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    // Another look at the key takes it from nobody.
    await page.waitForResponse(/\/admin\/keys/)
    await page.waitForResponse(/\/admin\/keys/)
    expect(await focused(page)).toBe(en.key.confirmYes)
    await page.keyboard.press('Enter')
    await remaining(page, '5')
    expect(await focused(page)).toBe(en.key.reset)
    expect(faultsIn(faults)).toStrictEqual([])
    await close()
  })

  it('is checked with the admin token where only callers may check', async () => {
    const mine = configFile('callers: [{ name: shop, token: token-of-the-shop }]')
    const service = await startProcess(['--config', mine.path])
    const { page, close } = await openPage(browser, service, '/#/key?key=k')
    try {
      await page.getByRole('button', { name: en.key.tryIn('token_bucket') }).click()
      await page.waitForFunction(() => document.querySelector('[data-fact=says]')?.textContent !== '')
      expect(await page.locator('.says.problem').count()).toBe(0)
      expect(await page.locator('h1').textContent()).toBe(en.key.title)
    } finally {
      await close()
      await service.stop()
      mine.remove()
    }
  })

  const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)

  const remaining = (page: Page, left: string) =>
    page.waitForFunction(
      (text) => document.querySelector('[data-fact="remaining:per-user"]')?.textContent === text,
      en.key.remaining(left, '5'),
    )
})

describe('where there is a token,', () => {
  const forget = 'sessionStorage.clear()'

  it.each(['/live', '/key?key=k', '/policies', '/race'])(
    '%s asks for it first, without a fault',
    async (path) => {
      const { page, faults, close } = await openPage(browser, closed.url, `/#${path}`)
      expect(await page.locator('h1').textContent()).toBe(en.gate.title)
      await sleep(500)
      expect(faults).toStrictEqual([])
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toStrictEqual(
        [],
      )
      await close()
    },
  )

  it('a wrong one is explained, the right one leads in, and is not asked for again in this tab', async () => {
    const { page, close } = await openPage(browser, closed.url, '/#/live')
    await enter(page, 'wrong-token')
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toBe(en.gate.wrong)
    // Where the next one is to be written.
    await page.keyboard.type('the-right-admin-token')
    await page.keyboard.press('Enter')
    await page.locator('.tiles').waitFor()
    await page.reload()
    await page.locator('.tiles').waitFor()
    expect(page.url()).not.toContain('the-right-admin-token')
    await page.getByRole('button', { name: en.gate.forget }).click()
    await page.getByLabel(en.gate.token).waitFor()
    await page.reload()
    await page.getByLabel(en.gate.token).waitFor()
    await close()
  })

  it.each(['two words', 'schlüssel', '   '])('%j is none, and that is said', async (token) => {
    const { page, close } = await openPage(browser, closed.url, '/#/live')
    await enter(page, token)
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toBe(en.gate.wrong)
    await enter(page, 'the-right-admin-token')
    await page.locator('.tiles').waitFor()
    await close()
  })

  it('a key is reset with it, and not without', async () => {
    const used = async () => {
      const response = await fetch(`${closed.url}/api/v1/rate-limit/remaining?key=k&policy=sliding_window`)
      return 100 - ((await response.json()) as { remaining: number }).remaining
    }
    await check('k', 'sliding_window', closed)
    expect(await used()).toBe(1)
    const { page, close } = await openPage(browser, closed.url, '/#/key?key=k')
    await enter(page, 'the-right-admin-token')
    await fact(page, 'key').waitFor()
    // As if the tab had another one.
    await page.evaluate(forget)
    await page.evaluate("sessionStorage.setItem('tidegate-admin-token', 'wrong-token')")
    await page.reload()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('button', { name: en.key.reset }).count()).toBe(0)
    expect(await used()).toBe(1)
    await enter(page, 'the-right-admin-token')
    await page.getByRole('button', { name: en.key.reset }).click()
    await page.getByRole('button', { name: en.key.confirmYes }).click()
    await page.waitForFunction(() => document.querySelector('[data-fact=says]')?.textContent !== '')
    expect(await used()).toBe(0)
    await close()
  })

  async function enter(page: Page, token: string): Promise<void> {
    await page.getByLabel(en.gate.token).fill(token)
    await page.getByRole('button', { name: en.gate.enter }).click()
  }
})

it('the policies say where each comes from, and what was wrong with the file the last time', async () => {
  const mine = configFile(FILE)
  const service = await startProcess(['--config', mine.path])
  const { page, faults, close } = await openPage(browser, service, '/#/policies')
  try {
    await page.getByText(en.policies.inFile(4)).waitFor()
    expect(await fact(page, 'reload').textContent()).toBe(en.policies.neverReloaded)
    expect(await page.getByRole('row', { name: /token_bucket/ }).textContent()).toContain(en.policies.builtIn)
    expect(await page.getByRole('row', { name: /POST/ }).textContent()).toContain('POST /login')
    mine.write(`${FILE}limits: 7\n`)
    await page.locator('.mistakes').waitFor()
    expect(await page.locator('.mistakes').textContent()).toMatch(/:9:\d+ {2}limits: /)
    mine.write(FILE.replace('limit: 5, window: 1d', 'limit: 6, window: 1d'))
    await page.getByText(en.policies.perWindow('6', formatDuration(86_400_000))).waitFor()
    expect(await page.locator('.mistakes').count()).toBe(0)
    expect(faultsIn(faults)).toStrictEqual([])
  } finally {
    await close()
    await service.stop()
    mine.remove()
  }
})

it('the race shows both, and that only one lets too many in', async () => {
  const { page, faults, close } = await openPage(browser, open, '/#/race')
  await page.getByLabel(en.race.callers).fill('80')
  await page.getByLabel(en.race.limit).fill('20')
  await page.getByRole('button', { name: en.race.start }).click()
  await fact(page, 'naive-admitted').waitFor()
  expect(await fact(page, 'naive-admitted').textContent()).toBe('80')
  expect(await fact(page, 'naive-over').textContent()).toBe(en.race.over(60))
  expect(await fact(page, 'ours-admitted').textContent()).toBe('20')
  expect(await fact(page, 'ours-over').textContent()).toBe(en.race.over(0))
  await page.getByText(en.race.onMemory(5)).waitFor()
  // What was set is in the address, for a colleague.
  expect(new URL(page.url()).hash).toMatch(/callers=80&limit=20/)
  expect(faultsIn(faults)).toStrictEqual([])
  await close()
})

it('the service sends the page under the same policy as the site by itself', async () => {
  const { headers } = await fetch(open.url)
  expect(headers.get('content-security-policy')).toBe(CONTENT_SECURITY_POLICY)
})

it("the API's own page fits on a phone", async () => {
  const { page, close } = await openPage(browser, open.url, '/docs', { viewport: PHONE })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
  await close()
})

it('as a site by itself, the page has no dashboard', async () => {
  const site = await serveSite(0)
  const { page, faults, close } = await openPage(browser, site.url, '#/live')
  try {
    expect(await page.locator('nav a').allTextContents()).not.toContain(en.views.live)
    expect(await page.locator('h1').textContent()).toBe(WORDS.en.compare.title)
    expect(faults).toStrictEqual([])
  } finally {
    await close()
    await site.close()
  }
})
