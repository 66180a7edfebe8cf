import { gzipSync } from 'node:zlib'
import { AxeBuilder } from '@axe-core/playwright'
import { launchBrowser } from '@tidegate/fixtures/browser'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CONTENT_SECURITY_POLICY, serveSite } from '../scripts/static-server.mjs'
import { STORIES, STORY_IDS } from '../src/lab/stories.js'
import { WORDS } from '../src/words/words.js'
import { openPage } from './browser.js'

let browser: Browser
let site: Awaited<ReturnType<typeof serveSite>>

beforeAll(async () => {
  site = await serveSite(0)
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 360, height: 740 }

// Every two of language, light and width meet once: each is of its own making.
const looks = [
  { lang: 'en', colorScheme: 'light', viewport: DESKTOP },
  { lang: 'en', colorScheme: 'dark', viewport: PHONE },
  { lang: 'ko', colorScheme: 'light', viewport: PHONE },
  { lang: 'ko', colorScheme: 'dark', viewport: DESKTOP },
] as const

describe.each(looks)(
  'in $lang, $colorScheme, $viewport.width pixels wide',
  ({ lang, colorScheme, viewport }) => {
    const words = WORDS[lang]
    it.each([
      ['/compare', words.compare.title],
      ['/compare?traffic=drawn&t=70000', words.compare.title],
      ['/stories', words.stories.title],
      ['/choose', words.choose.title],
      ['/choose?answers=nnny', words.choose.title],
    ])('%s is whole, without a fault and fit for everybody', async (path, title) => {
      const hash = `#${path}${path.includes('?') ? '&' : '?'}lang=${lang}`
      const { page, faults, close } = await openPage(browser, site.url, hash, { colorScheme, viewport })
      expect(await page.locator('h1').textContent()).toBe(title)
      expect(await page.evaluate('document.documentElement.lang')).toBe(lang)
      expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(colorScheme)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width)
      const { violations } = await new AxeBuilder({ page }).analyze()
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      expect(serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toStrictEqual([])
      expect(faults).toStrictEqual([])
      await close()
    })
  },
)

describe('the stories', () => {
  it.each(STORY_IDS)("%s shows the core's numbers, in both languages", async (id) => {
    const { lanes, facts } = STORIES[id]()
    for (const lang of ['en', 'ko'] as const) {
      const hash = `#/stories?story=${id}&lang=${lang}`
      const { page, faults, close } = await openPage(browser, site.url, hash)
      for (const { id: lane, run } of lanes) {
        const row = page.locator(`[data-lane="${lane}"]`)
        expect(await row.locator('[data-fact=allowed]').textContent()).toBe(String(run.admittedMs.length))
        const refused = run.atMs.length - run.admittedMs.length
        expect(await row.locator('[data-fact=refused]').textContent()).toBe(String(refused))
      }
      const text = await page.locator('.story-text').textContent()
      const { text: tell } = WORDS[lang].stories.texts[id] as unknown as {
        text: (numbers: unknown) => string[]
      }
      for (const paragraph of tell(facts)) expect(text).toContain(paragraph)
      expect(faults).toStrictEqual([])
      await close()
    }
  })

  it.each([
    ['idle-hour', '11:00:00', 'leaky-bucket'],
    ['memory', '11:00:00', 'sliding-window-log'],
    ['estimate', '10:01:59', 'sliding-window-counter'],
    ['same-microsecond', '10:00:00.600', 'naive'],
  ] as const)('%s opens at %s, where there is something to see', async (id, moment, lane) => {
    const { page, close } = await openPage(browser, site.url, `#/stories?story=${id}`)
    const inside = page.locator(`[data-lane=${lane}] .lane-state`)
    expect(await page.locator('[data-fact=moment]').textContent()).toBe(moment)
    const first = await inside.textContent()
    await page.locator('.transport input[type=range]').fill('1000')
    // Only then has the address something to say.
    await page.waitForURL(/&t=\d+/)
    expect(await inside.textContent()).not.toBe(first)
    await page.goto(`${site.url}#/stories?story=${id}`)
    await expect.poll(() => page.locator('[data-fact=moment]').textContent()).toBe(moment)
    await close()
  })

  it('are one click away, and the back button leads back', async () => {
    const { page, close } = await openPage(browser, site.url, '#/stories')
    await page.getByRole('link', { name: WORDS.en.stories.texts.estimate.title }).click()
    await page.locator('[data-story=estimate]').waitFor()
    expect(await page.locator('.story-text').textContent()).toContain('10.2')
    await page.goBack()
    await page.locator('[data-story=boundary]').waitFor()
    await close()
  })
})

describe('the address', () => {
  it.each([
    '#/compare?traffic=random&t=0',
    '#/compare?traffic=steady&rate=7&t=0',
    '#/stories?story=same-microsecond&t=0',
  ])('%s, stepped on, has the request in it that was stepped to', async (hash) => {
    const { page, close } = await openPage(browser, site.url, hash)
    const allowed = (of: typeof page) => of.locator('[data-fact=allowed]').allTextContents()
    for (let i = 0; i < 2; i++) {
      const before = page.url()
      await page.getByRole('button', { name: WORDS.en.lab.stepOn }).click()
      await page.waitForURL((url) => url.href !== before)
      const other = await openPage(browser, page.url(), '')
      expect(await allowed(other.page)).toStrictEqual(await allowed(page))
      await other.close()
    }
    await close()
  })

  it('holds every state: a link shows a colleague the same', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare')
    await page.getByRole('radio', { name: WORDS.en.compare.kinds.random }).check()
    await page.getByLabel(WORDS.en.compare.numbers.seed).fill('42')
    await page.getByLabel(WORDS.en.compare.numbers.limit, { exact: true }).fill('12')
    await page.getByRole('combobox', { name: WORDS.en.compare.window }).selectOption('10s')
    await page.getByRole('combobox', { name: WORDS.en.lab.speed }).selectOption('4')
    await page.getByRole('button', { name: WORDS.en.algorithms['fixed-window'] }).click()
    await page.locator('.transport input[type=range]').fill('500')
    await page.waitForURL(/t=20000/)
    const shown = await page.locator('.timeline').innerText()

    const colleague = await openPage(browser, site.url, new URL(page.url()).hash)
    expect(await colleague.page.locator('.timeline').innerText()).toBe(shown)
    const speed = colleague.page.getByRole('combobox', { name: WORDS.en.lab.speed })
    expect(await speed.inputValue()).toBe('4')
    const fixed = colleague.page.getByRole('button', { name: WORDS.en.algorithms['fixed-window'] })
    expect(await fixed.getAttribute('aria-pressed')).toBe('false')
    expect(colleague.faults).toStrictEqual([])
    await colleague.close()
    await close()
  })

  it('stays as it is when a number is taken out, and so does the number', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?limit=12&t=60000')
    const limit = page.getByLabel(WORDS.en.compare.numbers.limit, { exact: true })
    await limit.fill('')
    await limit.blur()
    expect(await limit.inputValue()).toBe('12')
    expect(new URL(page.url()).hash).toBe('#/compare?limit=12&t=60000')
    await close()
  })

  it('goes back and forward through what was set', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare')
    await page.getByRole('radio', { name: WORDS.en.compare.kinds.steady }).check()
    await page.waitForURL(/traffic=steady/)
    await page.getByRole('radio', { name: WORDS.en.compare.kinds.ramp }).check()
    await page.waitForURL(/traffic=ramp/)
    await page.goBack()
    await page.locator('.segments label:has-text("Steady") input:checked').waitFor({ state: 'attached' })
    await page.goForward()
    await page.locator('.segments label:has-text("Ramp") input:checked').waitFor({ state: 'attached' })
    await close()
  })

  it.each([
    '#/compare?speed=1e9&hide=..x.<b>&limit=-1&window=9y&rate=1e99&cells=%00&t=NaN&traffic=__proto__&seed=<img src=x onerror=alert(1)>',
    '#/stories?story=constructor&t=999999999999',
    '#/choose?answers=yyyyyyyy&limit=0&keys=Infinity&window=<script>',
    '#/<img src=x onerror=alert(1)>?lang=xx',
    `#/compare?cells=${'9.'.repeat(20_000)}9&traffic=drawn`,
    '#%E0%A4%A',
  ])('falls back to what is right where it is wrong: %s', async (hash) => {
    const { page, faults, close } = await openPage(browser, site.url, hash)
    expect(await page.locator('main h1').count()).toBe(1)
    expect(await page.locator('img, main script').count()).toBe(0)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('keeps the language; without one the browser decides', async () => {
    const korean = await openPage(browser, site.url, '', { locale: 'ko-KR' })
    expect(await korean.page.locator('h1').textContent()).toBe(WORDS.ko.compare.title)
    await korean.page.getByRole('button', { name: 'English' }).click()
    await expect.poll(() => korean.page.locator('h1').textContent()).toBe(WORDS.en.compare.title)
    await korean.page.getByRole('link', { name: WORDS.en.views.choose }).click()
    await korean.page.waitForURL(/choose\?lang=en/)
    await expect.poll(() => korean.page.locator('h1').textContent()).toBe(WORDS.en.choose.title)
    await korean.close()
  })
})

describe('the clock', () => {
  it('plays, pauses, steps from request to request, and is dragged', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/compare?t=0')
    const moment = page.locator('[data-fact=moment]')
    const allowed = page.locator('[data-lane=fixed-window] [data-fact=allowed]')
    expect([await moment.textContent(), await allowed.textContent()]).toStrictEqual(['0:00', '0'])
    await page.getByRole('button', { name: WORDS.en.lab.stepOn }).click()
    await expect.poll(() => allowed.textContent()).toBe('1')
    await page.getByRole('button', { name: WORDS.en.lab.stepOn }).click()
    await page.getByRole('button', { name: WORDS.en.lab.stepOn }).click()
    await expect.poll(() => allowed.textContent()).toBe('3')
    await page.getByRole('button', { name: WORDS.en.lab.stepBack }).click()
    await expect.poll(() => allowed.textContent()).toBe('2')
    await page.locator('.transport input[type=range]').fill('1000')
    await expect.poll(() => allowed.textContent()).toBe('40')
    expect(await moment.textContent()).toBe('4:00')
    await page.getByRole('button', { name: WORDS.en.lab.play }).click()
    await expect.poll(() => moment.textContent()).toMatch(/0:0[1-9]/)
    await page.getByRole('button', { name: WORDS.en.lab.pause }).click()
    await page.waitForURL(/t=\d+/)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('is held by the keyboard alone', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?t=60000')
    await page.locator('.transport .play').focus()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: WORDS.en.lab.pause }).waitFor()
    await page.keyboard.press('Space')
    await page.locator('.transport input[type=range]').focus()
    await page.keyboard.press('Home')
    await expect.poll(() => page.locator('[data-fact=moment]').textContent()).toBe('0:00')
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline).toBe('solid')
    await close()
  })

  it('draws more than 20 frames a second on a busy machine too, and no single one takes half a second', async () => {
    const { page, close } = await openPage(
      browser,
      site.url,
      '#/compare?traffic=random&rate=600&limit=500&t=0',
    )
    await page.getByRole('button', { name: WORDS.en.lab.play }).click()
    const gaps = (await page.evaluate(`new Promise((resolve) => {
      const gaps = []
      let last = performance.now()
      const start = last
      const next = (now) => {
        gaps.push(now - last)
        last = now
        if (now - start < 2000) requestAnimationFrame(next)
        else resolve(gaps)
      }
      requestAnimationFrame(next)
    })`)) as number[]
    expect(gaps.length).toBeGreaterThan(40)
    expect(Math.max(...gaps)).toBeLessThan(500)
    await close()
  })
})

describe('drawing traffic', () => {
  it('by the arrow keys and by the pointer puts requests where they are drawn', async () => {
    const empty = new Array(48).fill(0).join('.')
    const hash = `#/compare?traffic=drawn&cells=${empty}`
    const { page, faults, close } = await openPage(browser, site.url, hash)
    const arrivals = page.locator('[data-fact=arrivals]')
    await expect.poll(() => arrivals.textContent()).toBe('0')
    await page.getByRole('slider', { name: WORDS.en.lab.drawLabel }).focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('PageUp')
    await page.waitForURL(/cells=0\.11\.0/)
    await expect.poll(() => arrivals.textContent()).toBe('11')
    const box = (await page.locator('.draw').boundingBox())!
    await page.mouse.click(box.x + box.width - 3, box.y + box.height / 2)
    await page.waitForURL(/cells=0\.11\.0.*\.10$/)
    await expect.poll(() => arrivals.textContent()).toBe('21')
    expect(faults).toStrictEqual([])
    await close()
  })
})

describe('choosing', () => {
  it('asks until it knows, and shows the policy with its numbers', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/choose')
    for (const id of ['bursts', 'even', 'simple'] as const) {
      const question = page.getByRole('group', { name: WORDS.en.choose.questions[id].ask })
      await question.getByRole('radio', { name: WORDS.en.choose.no }).check()
    }
    const last = page.getByRole('group', { name: WORDS.en.choose.questions.exact.ask })
    await last.getByRole('radio', { name: WORDS.en.choose.yes }).check()
    await page.locator('[data-algorithm=sliding-window-log]').waitFor()
    await page.getByLabel(WORDS.en.compare.numbers.limit).fill('5')
    await page.getByLabel(WORDS.en.choose.keys).fill('1000')
    await page.keyboard.press('Tab')
    await expect
      .poll(() => page.locator('[data-code=YAML]').textContent())
      .toContain('sliding-window-log, limit: 5, window: 1m')
    await expect
      .poll(() => page.locator('[data-code=TypeScript]').textContent())
      .toContain("slidingWindowLog({ limit: 5, window: '1m'")
    await page.waitForURL(/answers=nnny&limit=5&keys=1000/)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('copies also where a page has no clipboard, as over plain HTTP from another machine', async () => {
    const { page, close } = await openPage(browser, site.url, '#/choose?answers=nnny')
    await page.evaluate(`
      Object.defineProperty(navigator, 'clipboard', { value: undefined })
      addEventListener('copy', () => { document.title = String(getSelection()) })
    `)
    await page.getByRole('button', { name: WORDS.en.choose.copyWhat('YAML') }).click()
    await page.getByRole('button', { name: WORDS.en.choose.copied }).waitFor()
    expect(await page.title()).toContain('algorithm: sliding-window-log, limit: 100, window: 1m')
    await close()
  })
})

describe('the theme', () => {
  it("is the system's until it is switched, and then stays", async () => {
    const { page, close } = await openPage(browser, site.url, '', { colorScheme: 'dark' })
    const theme = () => page.evaluate('document.documentElement.dataset.theme')
    expect(await theme()).toBe('dark')
    await page.getByRole('button', { name: WORDS.en.shell.toLight }).click()
    await expect.poll(theme).toBe('light')
    await page.reload()
    await page.locator('h1').waitFor()
    expect(await theme()).toBe('light')
    await close()
  })
})

describe('the files', () => {
  it('come under a policy without unsafe-inline, and the first load is below 100 kB compressed', async () => {
    expect(CONTENT_SECURITY_POLICY).not.toContain('unsafe')
    const context = await browser.newContext()
    const page = await context.newPage()
    const bodies: Promise<Buffer>[] = []
    page.on('response', (response) => bodies.push(response.body()))
    // All of it: what came after the page is closed could not be read.
    const response = await page.goto(site.url, { waitUntil: 'networkidle' })
    await page.locator('h1').waitFor()
    expect(response?.headers()['content-security-policy']).toBe(CONTENT_SECURITY_POLICY)
    const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body).length)
    expect(sizes.length).toBeGreaterThan(2)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000)
    await context.close()
  })

  it.each(['/../package.json', '/%2e%2e/package.json', '/assets/..%2f..%2fpackage.json', '/none.js', '/%'])(
    'are the only ones: %s is not there',
    async (path) => {
      const response = await fetch(new URL(site.url).origin + path)
      expect(response.status).toBe(404)
    },
  )
})
