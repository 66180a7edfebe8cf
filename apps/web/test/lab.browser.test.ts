import { gzipSync } from 'node:zlib'
import { AxeBuilder } from '@axe-core/playwright'
import { launchBrowser } from '@tidegate/fixtures/browser'
import type { Browser, Page, Response } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CONTENT_SECURITY_POLICY, serveSite } from '../scripts/static-server.mjs'
import { STORIES, STORY_IDS } from '../src/simulation/stories.js'
import { WORDS } from '../src/words/words.js'
import { openPage, seriousOf, waitForEffects } from './browser.js'

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

/** Moves the clock. New settings may have created a new one, whose listeners are added by effects. */
async function moveSlider(page: Page, value: number): Promise<void> {
  await waitForEffects(page)
  await page.locator('.transport input[type=range]').fill(String(value))
}

// Each pair of language, theme and width occurs once.
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
      ['/compare', words.compare.shown.algorithms.title],
      ['/compare?show=leases', words.compare.shown.leases.title],
      ['/compare?show=leases&algorithm=token-bucket&processes=8', words.compare.shown.leases.title],
      ['/compare?show=concurrency', words.compare.shown.concurrency.title],
      ['/compare?show=concurrency&traffic=bursts&limit=100', words.compare.shown.concurrency.title],
      ['/compare?traffic=drawn&t=70000', words.compare.shown.algorithms.title],
      ['/stories', words.stories.title],
      ['/choose', words.choose.title],
      ['/choose?answers=nnny', words.choose.title],
      ['/choose?for=tokens&window=month', words.choose.title],
      [
        '/compare?traffic=steady&block=50&countDenied=true&window=month&timeZone=Asia/Seoul',
        words.compare.shown.algorithms.title,
      ],
    ])('%s renders without faults and accessibility violations', async (path, title) => {
      const hash = `#${path}${path.includes('?') ? '&' : '?'}lang=${lang}`
      const { page, faults, close } = await openPage(browser, site.url, hash, { colorScheme, viewport })
      expect(await page.locator('h1').textContent()).toBe(title)
      if (!path.startsWith('/choose')) await page.locator('.timeline').waitFor()
      await waitForEffects(page)
      await expect.poll(() => page.evaluate('document.documentElement.lang')).toBe(lang)
      expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(colorScheme)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width)
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(
        seriousOf(violations).map(({ id, nodes }) => [id, nodes.map((node) => node.html)]),
      ).toStrictEqual([])
      expect(faults).toStrictEqual([])
      await close()
    })
  },
)

describe('Stories', () => {
  it.each(STORY_IDS)('%s shows the numbers of the core, in both languages', async (id) => {
    const { lanes, facts } = STORIES[id]()
    for (const lang of ['en', 'ko'] as const) {
      const hash = `#/stories?story=${id}&lang=${lang}`
      const { page, faults, close } = await openPage(browser, site.url, hash)
      for (const { id: lane, run } of lanes) {
        const row = page.locator(`[data-lane="${lane}"]`)
        expect(await row.locator('[data-fact=allowed]').textContent()).toBe(String(run.admittedMs.length))
        const denied = run.atMs.length - run.admittedMs.length
        expect(await row.locator('[data-fact=denied]').textContent()).toBe(String(denied))
      }
      const text = await page.locator('.story-text').textContent()
      const { text: paragraphs } = WORDS[lang].stories.texts[id] as unknown as {
        text: (facts: unknown) => string[]
      }
      for (const paragraph of paragraphs(facts)) expect(text).toContain(paragraph)
      expect(faults).toStrictEqual([])
      await close()
    }
  })

  it.each([
    ['idle-hour', '11:00:00', 'leaky-bucket'],
    ['memory', '11:00:00', 'sliding-window-log'],
    ['estimate', '10:01:59', 'sliding-window-counter'],
    ['same-microsecond', '10:00:00.600', 'naive'],
  ] as const)('%s opens at %s', async (id, moment, lane) => {
    const { page, close } = await openPage(browser, site.url, `#/stories?story=${id}`)
    const inside = page.locator(`[data-lane=${lane}] .lane-state`)
    expect(await page.locator('[data-fact=moment]').textContent()).toBe(moment)
    const first = await inside.textContent()
    await moveSlider(page, 1000)
    // The address has a time only if it differs from the initial one.
    await page.waitForURL(/&t=\d+/)
    await expect.poll(() => inside.textContent()).not.toBe(first)
    await page.goto(`${site.url}#/stories?story=${id}`)
    await expect.poll(() => page.locator('[data-fact=moment]').textContent()).toBe(moment)
    await close()
  })

  it('are links, each has a link to the next, and the back button returns to the previous one', async () => {
    const { page, close } = await openPage(browser, site.url, '#/stories')
    await page.getByRole('link', { name: WORDS.en.stories.texts.estimate.title }).click()
    await page.locator('[data-story=estimate]').waitFor()
    expect(await page.locator('.story-text').textContent()).toContain('10.2')
    await page.goBack()
    await page.locator('[data-story=boundary]').waitFor()
    const next = WORDS.en.stories.texts['idle-hour'].title
    await page.getByRole('link', { name: WORDS.en.stories.next(next) }).click()
    await page.locator('[data-story=idle-hour]').waitFor()
    await close()
  })
})

describe('the address', () => {
  it.each([
    '#/compare?traffic=random&t=0',
    '#/compare?traffic=steady&rate=7&t=0',
    '#/stories?story=same-microsecond&t=0',
  ])('%s, after a step, includes the request of that step', async (hash) => {
    const { page, close } = await openPage(browser, site.url, hash)
    const allowed = (of: typeof page) => of.locator('[data-fact=allowed]').allTextContents()
    for (let i = 0; i < 2; i++) {
      const before = page.url()
      await page.getByRole('button', { name: WORDS.en.lab.stepForward }).click()
      await page.waitForURL((url) => url.href !== before)
      const other = await openPage(browser, page.url(), '')
      expect(await allowed(other.page)).toStrictEqual(await allowed(page))
      await other.close()
    }
    await close()
  })

  it('has the whole state, so that a link reproduces it', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare')
    await page.getByRole('radio', { name: WORDS.en.compare.kinds.random }).check()
    await page.getByLabel(WORDS.en.compare.numbers.seed).fill('42')
    await page.getByLabel(WORDS.en.compare.numbers.limit, { exact: true }).fill('12')
    await page.getByRole('combobox', { name: WORDS.en.compare.window, exact: true }).selectOption('10s')
    await page.getByRole('combobox', { name: WORDS.en.lab.speed }).selectOption('4')
    await page.getByRole('button', { name: WORDS.en.algorithms['fixed-window'] }).click()
    await moveSlider(page, 500)
    await page.waitForURL(/t=20000/)
    const copy = await openPage(browser, site.url, new URL(page.url()).hash)
    await expectSameTimeline(copy.page, page)
    const speed = copy.page.getByRole('combobox', { name: WORDS.en.lab.speed })
    expect(await speed.inputValue()).toBe('4')
    const fixed = copy.page.getByRole('button', { name: WORDS.en.algorithms['fixed-window'] })
    expect(await fixed.getAttribute('aria-pressed')).toBe('false')
    expect(copy.faults).toStrictEqual([])
    await copy.close()
    await close()
  })

  it('and the number stay the same when a number is cleared', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?limit=12&t=60000')
    const limit = page.getByLabel(WORDS.en.compare.numbers.limit, { exact: true })
    await limit.fill('')
    await limit.blur()
    await expect.poll(() => limit.inputValue()).toBe('12')
    expect(await page.evaluate('location.hash')).toBe('#/compare?limit=12&t=60000')
    await close()
  })

  it('has the nearest number if the typed one is out of range, and the page shows the range', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare')
    const limit = page.getByLabel(WORDS.en.compare.numbers.limit, { exact: true })
    await limit.fill('9999')
    await limit.blur()
    await page.getByText(WORDS.en.fields.range(1, 500)).waitFor()
    await page.waitForURL(/limit=500/)
    await close()
  })

  it('leaves out the capacity while its field is empty, which shows the limit', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?limit=12&t=60000')
    const capacity = page.getByLabel(WORDS.en.compare.numbers.capacity)
    expect(await capacity.inputValue()).toBe('')
    expect(await capacity.getAttribute('placeholder')).toBe('12')
    await capacity.fill('8')
    await capacity.blur()
    await page.waitForURL(/capacity=8/)
    await capacity.fill('')
    await capacity.blur()
    await page.waitForURL(/compare\?limit=12$/)
    await close()
  })

  it('can change while a number is being typed', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?t=60000')
    const limit = page.getByLabel(WORDS.en.compare.numbers.limit, { exact: true })
    await limit.fill('12')
    await page.evaluate("location.hash = '#/compare?t=0'")
    await expect.poll(() => page.locator('[data-fact=moment]').textContent()).toBe('0:00')
    expect(await limit.inputValue()).toBe('12')
    await page.keyboard.press('Tab')
    await page.waitForURL(/limit=12/)
    await page.goBack()
    await expect.poll(() => limit.inputValue()).toBe('20')
    await close()
  })

  it('follows back and forward', async () => {
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

  it('gets one entry in the history for all edits of a number, and one for all strokes of a drawing', async () => {
    const { page, close } = await openPage(
      browser,
      site.url,
      `#/compare?traffic=drawn&cells=${'0.'.repeat(47)}0`,
    )
    const limit = page.getByLabel(WORDS.en.compare.numbers.limit, { exact: true })
    await limit.focus()
    for (const value of ['19', '18', '17']) {
      await page.keyboard.press('ArrowDown')
      await page.waitForURL(new RegExp(`limit=${value}`))
    }
    const drawing = page.locator('.draw')
    await drawing.focus()
    for (const count of [1, 2, 3]) {
      await page.keyboard.press('ArrowUp')
      await page.waitForURL(new RegExp(`cells=${count}\\.`))
    }
    await page.getByRole('button', { name: WORDS.en.compare.clear }).click()
    await page.waitForURL(/cells=0\./)
    await page.goBack()
    await page.waitForURL(/limit=17&cells=3\./)
    await page.goBack()
    await page.waitForURL(/limit=17&cells=0\./)
    await page.goBack()
    await page.waitForURL((url) => !url.hash.includes('limit'))
    // An edit after going back does not replace the entry that it starts from.
    await limit.focus()
    await page.keyboard.press('ArrowUp')
    await page.waitForURL(/limit=21/)
    await page.goBack()
    await page.waitForURL((url) => !url.hash.includes('limit'))
    await close()
  })

  for (const hash of [
    '#/compare?speed=1e9&hide=..x.<b>&limit=-1&window=9y&rate=1e99&cells=%00&t=NaN&traffic=__proto__&seed=<img src=x onerror=alert(1)>',
    '#/compare?show=__proto__',
    '#/compare?show=leases&algorithm=leaky-bucket&processes=1e9&maxAge=<b>&window=1h&share=0&t=-1',
    '#/compare?show=concurrency&traffic=drawn&duration=0&limit=NaN',
    '#/stories?story=constructor&t=999999999999',
    '#/choose?answers=yyyyyyyy&limit=0&keys=Infinity&window=<script>',
    '#/<img src=x onerror=alert(1)>?lang=xx',
    `#/compare?cells=${'9.'.repeat(20_000)}9&traffic=drawn`,
    '#%E0%A4%A',
  ]) {
    it(`with invalid values falls back to defaults: ${hash.slice(0, 100)}`, async () => {
      const { page, faults, close } = await openPage(browser, site.url, hash)
      await page.locator('.timeline, .questions').waitFor()
      await waitForEffects(page)
      expect(await page.locator('main h1').count()).toBe(1)
      expect(await page.locator('img, main script').count()).toBe(0)
      expect(faults).toStrictEqual([])
      await close()
    })
  }

  it('keeps the language, which defaults to that of the browser', async () => {
    const korean = await openPage(browser, site.url, '', { locale: 'ko-KR' })
    expect(await korean.page.locator('h1').textContent()).toBe(WORDS.ko.compare.shown.algorithms.title)
    await korean.page.getByRole('button', { name: 'English' }).click()
    await expect
      .poll(() => korean.page.locator('h1').textContent())
      .toBe(WORDS.en.compare.shown.algorithms.title)
    await korean.page.getByRole('link', { name: WORDS.en.views.choose }).click()
    await korean.page.waitForURL(/choose\?lang=en/)
    await expect.poll(() => korean.page.locator('h1').textContent()).toBe(WORDS.en.choose.title)
    await korean.close()
  })
})

describe('the clock', () => {
  it('plays, pauses, steps from request to request, and follows the slider', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/compare?speed=0.25&t=0')
    const moment = page.locator('[data-fact=moment]')
    const allowed = page.locator('[data-lane=fixed-window] [data-fact=allowed]')
    expect([await moment.textContent(), await allowed.textContent()]).toStrictEqual(['0:00', '0'])
    await page.getByRole('button', { name: WORDS.en.lab.stepForward }).click()
    await expect.poll(() => allowed.textContent()).toBe('1')
    await page.getByRole('button', { name: WORDS.en.lab.stepForward }).click()
    await page.getByRole('button', { name: WORDS.en.lab.stepForward }).click()
    await expect.poll(() => allowed.textContent()).toBe('3')
    await page.getByRole('button', { name: WORDS.en.lab.stepBack }).click()
    await expect.poll(() => allowed.textContent()).toBe('2')
    await moveSlider(page, 1000)
    await expect.poll(() => allowed.textContent()).toBe('40')
    await expect.poll(() => moment.textContent()).toBe('4:00')
    await page.waitForURL(/t=240000/)
    await page.getByRole('button', { name: WORDS.en.lab.play }).click()
    // From the start, for 96 seconds at this speed.
    await expect.poll(() => moment.textContent()).toMatch(/^[0-3]:(?!00)\d\d$/)
    await page.getByRole('button', { name: WORDS.en.lab.pause }).click()
    await page.waitForURL(/t=(?!240000)\d+/)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('is controlled by keyboard', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?t=60000')
    await page.locator('.transport .play').focus()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: WORDS.en.lab.pause }).waitFor()
    await page.keyboard.press('Space')
    await page.locator('.transport input[type=range]').focus()
    await page.keyboard.press('Home')
    await expect.poll(() => page.locator('[data-fact=moment]').textContent()).toBe('0:00')
    const outline = () => page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
    await expect.poll(outline).toBe('solid')
    await close()
  })

  it('plays at more than 20 frames a second, and no frame takes half a second', async () => {
    const { page, close } = await openPage(
      browser,
      site.url,
      '#/compare?traffic=random&rate=600&limit=500&t=0',
    )
    const measureGaps = () =>
      page.evaluate(`new Promise((resolve) => {
        const gaps = []
        let last = performance.now()
        const start = last
        const next = (now) => {
          gaps.push(now - last)
          last = now
          if (now - start < 1000) requestAnimationFrame(next)
          else resolve(gaps)
        }
        requestAnimationFrame(next)
      })`) as Promise<number[]>
    // A busy machine stalls the browser too: one smooth second out of ten shows that the page does not. If even the idle
    // page has few frames, fewer are enough.
    let frames = 0
    let minFrames = 20
    let longestMs = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < 10 && !(frames > minFrames && longestMs < 500); attempt++) {
      await moveSlider(page, 0)
      minFrames = Math.min(20, (await measureGaps()).length / 2)
      await page.getByRole('button', { name: WORDS.en.lab.play }).click()
      const gaps = await measureGaps()
      frames = gaps.length
      longestMs = Math.max(...gaps)
    }
    expect(frames).toBeGreaterThan(minFrames)
    expect(longestMs).toBeLessThan(500)
    await close()
  })
})

describe('the timeline', () => {
  /** Horizontal distance of the slider's thumb from the time cursor and the time of each chart. */
  const offsetsOf = (page: Page) =>
    page.locator('.transport input[type=range]').evaluate((input: HTMLInputElement) => {
      const slider = input.getBoundingClientRect()
      const thumbWidth = Number.parseFloat(getComputedStyle(input).getPropertyValue('--thumb'))
      const share = Number(input.value) / 1000
      const thumb = slider.left + thumbWidth / 2 + share * (slider.width - thumbWidth)
      return [...document.querySelectorAll('.timeline .plot')].map((plot) => {
        const cursor = plot.querySelector('.time-cursor')!.getBoundingClientRect().left
        const { left, width } = plot.querySelector('.u-over')!.getBoundingClientRect()
        return Math.max(Math.abs(cursor - thumb), Math.abs(left + share * width - thumb))
      })
    })

  it.each([1440, 1280, 800, 390])('has its slider above the charts, %d pixels wide', async (width) => {
    const viewport = { width, height: 900 }
    const { page, close } = await openPage(browser, site.url, '#/compare?t=0', { viewport })
    for (const value of [0, 123, 500, 1000]) {
      await moveSlider(page, value)
      const slider = page.locator('.transport input[type=range]')
      await expect.poll(() => slider.inputValue()).toBe(String(value))
      await expect.poll(async () => (await offsetsOf(page)).length).toBe(6)
      await expect.poll(async () => Math.max(...(await offsetsOf(page)))).toBeLessThan(1.5)
    }
    await close()
  })

  it('moves the clock by dragging in any chart', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?t=0')
    const moment = page.locator('[data-fact=moment]')
    const chart = page.locator('[data-lane=fixed-window] .u-over')
    await chart.scrollIntoViewIfNeeded()
    const area = (await chart.boundingBox())!
    await page.mouse.move(area.x + area.width / 4, area.y + 20)
    await page.mouse.down()
    await expect.poll(() => moment.textContent()).toBe('1:00')
    await page.mouse.move(area.x + area.width / 2, area.y - 30)
    await expect.poll(() => moment.textContent()).toBe('2:00')
    await page.mouse.up()
    await page.mouse.move(area.x, area.y)
    await waitForEffects(page)
    expect(await moment.textContent()).toBe('2:00')
    await close()
  })

  it('opens at the last request, and its worst window follows the clock', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare')
    const moment = page.locator('[data-fact=moment]')
    const worst = page.locator('[data-lane=fixed-window] [data-fact=worst]')
    expect([await moment.textContent(), await worst.textContent()]).toStrictEqual([
      '1:08',
      WORDS.en.lab.worst['fixed-window'](40, 20),
    ])
    await moveSlider(page, 125)
    await expect.poll(() => worst.textContent()).toBe(WORDS.en.lab.worst['fixed-window'](0, 20))
    await expect.poll(() => page.locator('.worst.over').count()).toBe(0)
    await close()
  })

  it('compares buckets with their capacity and refill, not with the limit of a window', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?traffic=steady&rate=100')
    for (const lane of ['token-bucket', 'leaky-bucket'] as const) {
      const worst = page.locator(`[data-lane=${lane}] [data-fact=worst]`)
      expect(await worst.textContent()).toBe(WORDS.en.lab.worst[lane](39, 40))
    }
    expect(await page.locator('.worst.over').count()).toBe(0)
    await close()
  })

  it('does not dim the labels of the time axis', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare?t=0')
    const gaps = await page.locator('.arrivals .plot, .window-charts .plot').evaluateAll((plots) =>
      plots.map((plot) => {
        const bottom = (selector: string) => plot.querySelector(selector)!.getBoundingClientRect().bottom
        return Math.abs(bottom('.u-over') - bottom('.time-cursor'))
      }),
    )
    expect(gaps).toHaveLength(3)
    expect(Math.max(...gaps)).toBeLessThan(1.5)
    await close()
  })

  it('has a legend with the dashes of the lines in the charts below', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare')
    const dashes = await page
      .locator('.legend line')
      .evaluateAll((lines) => lines.map((line) => line.getAttribute('stroke-dasharray')))
    expect(dashes).toHaveLength(5)
    expect(new Set(dashes).size).toBe(5)
    await close()
  })

  it('keeps the colours of the algorithms if the system forces its own', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare', { forcedColors: 'active' })
    const colours = await page
      .locator('.lane-name .swatch')
      .evaluateAll((swatches) => swatches.map((swatch) => getComputedStyle(swatch).backgroundColor))
    expect(new Set(colours).size).toBe(5)
    const slider = page.locator('.transport input[type=range]')
    expect(await slider.evaluate((input) => getComputedStyle(input).forcedColorAdjust)).toBe('none')
    await close()
  })

  it('has a legend, an axis with a unit in every lane, and denied requests hatched below allowed ones', async () => {
    const hash = '#/compare?traffic=bursts&size=40&every=100&windows=2&t=120000'
    const { page, close } = await openPage(browser, site.url, hash)
    const legend = await page.locator('.chart-legend li').allTextContents()
    const { marks, levels, perBin } = WORDS.en.lab
    expect(legend).toStrictEqual([marks.allowed, marks.denied, marks.state, marks.limit, marks.windowStart])
    const labels = await page.locator('.timeline .axis-label').allTextContents()
    expect(labels).toStrictEqual([perBin(500), ...Object.values(levels)])
    const shares = await page.locator('[data-lane=fixed-window] .chart canvas').evaluate(colouredRows)
    expect(shares.deniedTop).toBeGreaterThan(shares.allowedBottom - 2)
    expect(shares.deniedFill).toBeGreaterThan(0.2)
    expect(shares.deniedFill).toBeLessThan(0.8)
    await close()
  })

  /** Rows and coverage of the first bar in the colours of the fixed window and of denied requests. */
  function colouredRows(canvas: Element) {
    const { width, height } = canvas as HTMLCanvasElement
    const { data } = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height)
    const style = getComputedStyle(document.documentElement)
    const find = (name: string) => {
      const hex = style.getPropertyValue(name).trim()
      const rgb = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
      const hits: { x: number; y: number }[] = []
      for (let i = 0; i < data.length; i += 4) {
        const isColour = rgb.every((part, j) => Math.abs(part - data[i + j]!) < 12) && data[i + 3]! > 200
        if (isColour) hits.push({ x: (i / 4) % width, y: Math.floor(i / 4 / width) })
      }
      return hits
    }
    const denied = find('--denied')
    const top = Math.min(...denied.map(({ y }) => y))
    const bottom = Math.max(...denied.map(({ y }) => y))
    const left = Math.min(...denied.map(({ x }) => x))
    const bar = denied.filter(({ x }) => x < left + 10)
    const barWidth = Math.max(...bar.map(({ x }) => x)) - left + 1
    const allowedBar = find('--fixed-window').filter(({ x }) => x >= left && x < left + barWidth)
    return {
      deniedTop: top,
      deniedFill: bar.length / (barWidth * (bottom - top + 1)),
      allowedBottom: Math.max(...allowedBar.map(({ y }) => y)),
    }
  }
})

describe('the options of Compare', () => {
  it('start windows with the first request, count denied requests and block, and are in the address', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/compare')
    const lane = page.locator('[data-lane=fixed-window]')
    const allowed = lane.locator('[data-fact=allowed]')
    expect(await allowed.textContent()).toBe('40')
    await page.getByRole('combobox', { name: WORDS.en.compare.start }).selectOption('first-request')
    await expect.poll(() => allowed.textContent()).toBe('20')
    await page.getByLabel(WORDS.en.compare.countDenied).check()
    await expect.poll(() => lane.locator('[data-fact=inside]').textContent()).toContain('40 of 20')
    await page.getByLabel(WORDS.en.compare.numbers.block).fill('50')
    await page.keyboard.press('Tab')
    await page.waitForURL(/start=first-request&countDenied=true&block=50/)
    // The first denial is the first request of the second minute. The last request is 9 seconds later.
    const blocked = page.locator('.inside .blocked')
    await expect.poll(() => blocked.count()).toBe(5)
    await expect.poll(() => lane.locator('.blocked').textContent()).toBe(WORDS.en.lab.blockedFor(21_450))
    expect(await page.locator('.chart-legend li').last().textContent()).toBe(WORDS.en.lab.marks.blocked)
    await moveSlider(page, 1000)
    await expect.poll(() => blocked.count()).toBe(0)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('show calendar windows in a time zone', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/compare')
    await page.getByRole('combobox', { name: WORDS.en.compare.window, exact: true }).selectOption('month')
    await page.getByLabel(WORDS.en.compare.timeZone).selectOption('Asia/Seoul')
    await page.waitForURL(/window=month&timeZone=Asia%2FSeoul/)
    const limit = WORDS.en.lab.limitInCalendar(20, 'month', 'Asia/Seoul')
    await expect.poll(() => page.locator('.arrivals .lane-state').textContent()).toBe(limit)
    const allowed = (lane: string) => page.locator(`[data-lane=${lane}] [data-fact=allowed]`).textContent()
    await expect.poll(() => allowed('fixed-window')).toBe('40')
    await expect.poll(() => allowed('sliding-window-log')).toBe('20')
    await moveSlider(page, 500)
    await page.waitForURL(/t=5356800000/)
    await expect
      .poll(() => page.locator('[data-fact=moment]').textContent())
      .toBe(WORDS.en.format.elapsed(5_356_800_000, 10_713_600_000))
    expect(faults).toStrictEqual([])
    await close()
  })
})

describe('Leases', () => {
  const numbers = WORDS.en.leases.numbers

  it('hold the limit with few store calls, show units in hand per process, and are in the address', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/compare')
    await page.getByRole('link', { name: WORDS.en.compare.shown.leases.label }).click()
    await page.waitForURL(/compare\?show=leases$/)
    const text = (lane: string, fact: string) =>
      page.locator(`[data-lane=${lane}] [data-fact=${fact}]`).textContent()
    // The limit has been reached once, and the next window has begun.
    const held = WORDS.en.leases.inWindow(1000, 1000)
    await expect.poll(() => text('leased', 'worst')).toBe(held)
    expect(await text('exact', 'worst')).toBe(held)
    expect(await page.locator('[data-fact=arrivals]').textContent()).toBe('4,000')
    expect(await text('leased', 'allowed')).toBe(await text('exact', 'allowed'))
    expect(Number(await text('calls', 'calls-per-check'))).toBeLessThan(0.25)
    const inHand = await page.locator('[data-lane=hands] dd').allTextContents()
    expect(inHand).toHaveLength(4)
    expect(Math.min(...inHand.map(Number))).toBeGreaterThan(0)
    const sum = inHand.reduce((total, units) => total + Number(units), 0)
    expect(await text('leased', 'in-hand')).toBe(String(sum))

    await page.getByLabel(WORDS.en.leases.algorithm).selectOption('token-bucket')
    await page.getByLabel(numbers.processes).fill('2')
    await page.getByLabel(numbers.maxAge).fill('20')
    await page.getByLabel(numbers.share).fill('10')
    await page.keyboard.press('Tab')
    await page.waitForURL(/show=leases&algorithm=token-bucket&processes=2&maxAge=20&share=10$/)
    await expect.poll(() => page.locator('[data-lane=hands] dd').count()).toBe(2)
    await moveSlider(page, 1000)
    await page.waitForURL(/t=40000/)
    const burst = /^Limit held: largest burst [\d,]+, capacity 1,000$/
    await expect.poll(() => text('leased', 'worst')).toMatch(burst)
    expect(await page.locator('.worst.over').count()).toBe(0)

    await expectCopyToShowTheSame(page)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('are loaded when they are first shown, and the page says so if that fails', async () => {
    const { page, close } = await openPage(browser, site.url, '#/compare')
    await page.route(/leases-view/, (route) => route.abort())
    await page.getByRole('link', { name: WORDS.en.compare.shown.leases.label }).click()
    await expect.poll(() => page.getByRole('alert').textContent()).toBe(WORDS.en.shell.loadFailed)
    await page.getByRole('link', { name: WORDS.en.compare.shown.concurrency.label }).click()
    await page.locator('[data-lane=concurrency]').waitFor()
    await close()
  })

  it('of a key that is not busy make one store call per check, and no process holds units', async () => {
    const hash = '#/compare?show=leases&traffic=steady&rate=20&t=40000'
    const { page, faults, close } = await openPage(browser, site.url, hash)
    const perCheck = page.locator('[data-fact=calls-per-check]')
    await expect.poll(() => perCheck.textContent()).toBe('1.00')
    expect(await page.locator('[data-lane=hands] dd').allTextContents()).toStrictEqual(['0', '0', '0', '0'])
    expect(faults).toStrictEqual([])
    await close()
  })
})

describe('Concurrency', () => {
  it('denies requests while all slots are in use; limit and duration are in the address', async () => {
    const hash = '#/compare?show=concurrency&traffic=bursts'
    const { page, faults, close } = await openPage(browser, site.url, hash)
    const { numbers, inUse, most } = WORDS.en.concurrency
    const lane = page.locator('[data-lane=concurrency]')
    const fact = (name: string) => lane.locator(`[data-fact=${name}]`).textContent()
    // Six bursts of 20 for 10 slots.
    await expect.poll(() => fact('allowed')).toBe('60')
    expect(await fact('denied')).toBe('60')
    expect([await fact('inside'), await fact('worst')]).toStrictEqual([inUse(10, 10), most(10, 10)])
    expect(await lane.locator('.slot.held').count()).toBe(10)
    await moveSlider(page, 1000)
    await page.waitForURL(/t=60000/)
    await expect.poll(() => fact('inside')).toBe(inUse(0, 10))
    expect(await lane.locator('.slot').count()).toBe(10)
    expect(await lane.locator('.slot.held').count()).toBe(0)

    // Requests last longer than the time between two bursts.
    await page.getByLabel(numbers.duration).fill('15000')
    await page.getByLabel(numbers.limit, { exact: true }).fill('30')
    await page.keyboard.press('Tab')
    await page.waitForURL(/show=concurrency&traffic=bursts&limit=30&duration=15000$/)
    await expect.poll(() => fact('inside')).toBe(inUse(30, 30))
    await expect.poll(() => Promise.all([fact('allowed'), fact('denied')])).toStrictEqual(['90', '30'])

    await expectCopyToShowTheSame(page)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('says how many requests are in flight on average', async () => {
    const hash = '#/compare?show=concurrency&traffic=steady&rate=120&duration=3000&lang=ko'
    const { page, close } = await openPage(browser, site.url, hash)
    const average = page.locator('[data-fact=average]')
    await expect.poll(() => average.textContent()).toBe(WORDS.ko.concurrency.average(120, 3000, 6))
    await close()
  })
})

describe('Draw your own', () => {
  it('adds requests by arrow keys and by pointer, and a button removes them', async () => {
    const empty = new Array(48).fill(0).join('.')
    const hash = `#/compare?traffic=drawn&cells=${empty}`
    const { page, faults, close } = await openPage(browser, site.url, hash)
    const arrivals = page.locator('[data-fact=arrivals]')
    await expect.poll(() => arrivals.textContent()).toBe('0')
    expect(await page.locator('.arrivals .axis-label').textContent()).toBe(WORDS.en.lab.perBin(5000))
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
    // A fast stroke over four cells. A pending effect of the previous change would discard its first cell.
    await waitForEffects(page)
    await page.mouse.move(box.x + (20.5 / 48) * box.width, box.y + box.height / 2)
    await page.mouse.down()
    await page.mouse.move(box.x + (23.5 / 48) * box.width, box.y + box.height / 2)
    await page.mouse.up()
    await page.waitForURL(/\.0\.10\.10\.10\.10\.0\./)
    await page.getByRole('button', { name: WORDS.en.compare.clear }).click()
    await expect.poll(() => arrivals.textContent()).toBe('0')
    expect(faults).toStrictEqual([])
    await close()
  })
})

describe('Choose', () => {
  it('shows the policy with its numbers after the last question', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/choose')
    for (const id of ['bursts', 'even', 'simple'] as const) {
      const question = page.getByRole('group', { name: WORDS.en.choose.questions[id].text })
      await question.getByRole('radio', { name: WORDS.en.choose.no }).check()
    }
    const last = page.getByRole('group', { name: WORDS.en.choose.questions.exact.text })
    await last.getByRole('radio', { name: WORDS.en.choose.yes }).check()
    await page.locator('[data-algorithm=sliding-window-log]').waitFor()
    await page.getByLabel(WORDS.en.compare.numbers.limit).fill('5')
    await page.getByLabel(WORDS.en.choose.keys).fill('1000')
    await page.keyboard.press('Tab')
    await expect
      .poll(() => page.locator('[data-code=YAML]').textContent())
      .toContain('    algorithm: sliding-window-log\n    limit: 5\n    window: 1m\n')
    await expect
      .poll(() => page.locator('[data-code=TypeScript]').textContent())
      .toContain("    limit: 5,\n    window: '1m',\n")
    await page.waitForURL(/answers=nnny&limit=5&keys=1000/)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('shows a policy for every use, with its own snippets', async () => {
    const { page, faults, close } = await openPage(browser, site.url, '#/choose')
    const { uses, title, blockFor, ttl } = WORDS.en.choose
    const code = (name: string) => page.locator(`[data-code=${name}]`)
    const choose = (use: keyof typeof uses) => page.getByRole('radio', { name: uses[use].text }).check()

    await choose('attempts')
    await page.getByLabel(blockFor).selectOption('1h')
    await page.getByLabel(WORDS.en.compare.countDenied).check()
    await page.waitForURL(/for=attempts&blockFor=1h&countDenied=true/)
    await expect
      .poll(() => code('YAML').textContent())
      .toContain(
        '    limit: 5\n    window: 15m\n    start: first-request\n    countDenied: true\n    blockFor: 1h\n',
      )

    await choose('quota')
    await page.getByLabel(WORDS.en.compare.timeZone).selectOption('Asia/Seoul')
    await expect
      .poll(() => code('TypeScript').textContent())
      .toContain("    limit: 1000,\n    window: 'month',\n    timeZone: 'Asia/Seoul',\n  }),")

    await choose('in-flight')
    await page.locator('[data-algorithm=concurrency]').waitFor()
    await page.getByLabel(ttl).selectOption('1m')
    await expect.poll(() => code('YAML').textContent()).toContain('    limit: 10\n    ttl: 1m\n')
    expect(await code('curl').textContent()).toContain('/release')
    const inLab = page.getByRole('link', { name: WORDS.en.choose.tryIt })
    expect(await inLab.getAttribute('href')).toBe('#/compare?show=concurrency&limit=10')

    await choose('tokens')
    await page.locator('[data-algorithm=sliding-window-counter]').waitFor()
    expect(await code('TypeScript').textContent()).toContain('reservation.settle(')
    await page.getByLabel(WORDS.en.compare.window).selectOption('month')
    await page.locator('[data-algorithm=fixed-window]').waitFor()

    await choose('requests')
    await page.waitForURL(/choose$/)
    await expect.poll(() => page.locator('.result').count()).toBe(0)
    expect(await page.locator('h1').textContent()).toBe(title)
    expect(faults).toStrictEqual([])
    await close()
  })

  it('warns about more memory than most servers have, and names the smaller alternative to the log', async () => {
    const { page, close } = await openPage(
      browser,
      site.url,
      '#/choose?answers=nnny&limit=50000&keys=1000000',
    )
    const { memoryTooLarge, counterInstead } = WORDS.en.choose
    const warning = page.locator('[data-fact=memory-warning]')
    expect(await page.locator('[data-fact=redis]').textContent()).toBe('675.2\u00a0GB')
    expect(await warning.textContent()).toBe(`${memoryTooLarge} ${counterInstead('163.8\u00a0MB')}`)
    await page.getByLabel(WORDS.en.compare.numbers.limit).fill('100')
    await page.keyboard.press('Tab')
    await expect.poll(() => warning.count()).toBe(0)
    await close()
  })

  it('has copy buttons that do not cover the code', async () => {
    const { page, close } = await openPage(browser, site.url, '#/choose?answers=y')
    const blocks = await page.locator('.code-block').evaluateAll((all) =>
      all.map((block) => ({
        buttonBottom: block.querySelector('button')!.getBoundingClientRect().bottom,
        codeTop: block.querySelector('pre')!.getBoundingClientRect().top,
      })),
    )
    expect(blocks).toHaveLength(3)
    for (const { buttonBottom, codeTop } of blocks) expect(buttonBottom).toBeLessThanOrEqual(codeTop)
    await close()
  })

  it('copies without the clipboard API too, which plain HTTP pages lack', async () => {
    const { page, close } = await openPage(browser, site.url, '#/choose?answers=nnny')
    await page.evaluate(`
      Object.defineProperty(navigator, 'clipboard', { value: undefined })
      addEventListener('copy', () => { document.title = String(getSelection()) })
    `)
    // The label of the button changes for two seconds only, so wait for the label before the click.
    await Promise.all([
      page.getByRole('button', { name: WORDS.en.copy.copied }).waitFor(),
      page.getByRole('button', { name: WORDS.en.copy.label('YAML') }).click(),
    ])
    expect(await page.title()).toContain('algorithm: sliding-window-log limit: 100 window: 1m')
    await close()
  })
})

describe('the theme', () => {
  it('is that of the system until it is switched, and is kept', async () => {
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

it('a window of medium width has the header on two lines', async () => {
  const { page, close } = await openPage(browser, site.url, '', { viewport: { width: 700, height: 800 } })
  const middleOf = (selector: string) =>
    page.locator(selector).evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect()
      return (top + bottom) / 2
    })
  expect(Math.abs((await middleOf('.brand')) - (await middleOf('.switches')))).toBeLessThan(4)
  expect(await middleOf('header nav')).toBeGreaterThan(await middleOf('.switches'))
  await close()
})

describe('the files', () => {
  it('have a content security policy without unsafe-inline, and the first load is below 100 kB compressed', async () => {
    expect(CONTENT_SECURITY_POLICY).not.toContain('unsafe')
    const context = await browser.newContext()
    const page = await context.newPage()
    const bodies: Promise<Buffer>[] = []
    const addBody = (response: Response) => bodies.push(response.body())
    page.on('response', addBody)
    const response = await page.goto(site.url, { waitUntil: 'networkidle' })
    await page.locator('h1').waitFor()
    // Bodies cannot be read after the page is closed.
    page.off('response', addBody)
    expect(response?.headers()['content-security-policy']).toBe(CONTENT_SECURITY_POLICY)
    const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body).length)
    expect(sizes.length).toBeGreaterThan(2)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000)
    await context.close()
  })

  it.each(['/../package.json', '/%2e%2e/package.json', '/assets/..%2f..%2fpackage.json', '/none.js', '/%'])(
    'do not include %s',
    async (path) => {
      const response = await fetch(new URL(site.url).origin + path)
      expect(response.status).toBe(404)
    },
  )
})

/** Opens the address of the page a second time. */
async function expectCopyToShowTheSame(page: Page): Promise<void> {
  const copy = await openPage(browser, site.url, new URL(page.url()).hash)
  await expectSameTimeline(copy.page, page)
  expect(copy.faults).toStrictEqual([])
  await copy.close()
}

/** Reads both pages until they agree: either may still be simulating. */
async function expectSameTimeline(one: Page, other: Page): Promise<void> {
  const textOf = (page: Page) => page.locator('.timeline').innerText()
  await vi.waitFor(async () => expect(await textOf(one)).toBe(await textOf(other)), { timeout: 10_000 })
}
