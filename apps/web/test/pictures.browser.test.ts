import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { launchBrowser } from '@tidegate/fixtures/browser'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configFile, type ServerProcess, startProcess } from '../../server/test/process.js'
import { WORDS } from '../src/words/words.js'
import { openPage } from './browser.js'

/*
 * The screenshots of the README and the docs, taken from a real service under light traffic. `npm run docs:pictures`
 * writes them; otherwise this test checks that each can be taken and exists.
 */

const FOLDER = new URL('../../../docs/pictures/', import.meta.url)
const isWriting = process.env.TIDEGATE_PICTURES === 'write'

const FILE = `
default: per-user
policies:
  per-user:  { algorithm: sliding-window-counter, limit: 20, window: 1m }
  global: { algorithm: token-bucket, capacity: 10000, refillRate: 10000/1m }
  login:     { algorithm: sliding-window-log, limit: 5, window: 15m, onStoreFailure: closed }
rules:
  - { name: global, key: all, policy: global }
  - { name: login, match: { path: /login, methods: [POST] }, key: "ip:{ip}", policy: login }
`

const DESKTOP = { width: 1280, height: 860 }
const PICTURES = [
  {
    name: 'compare',
    path: '/compare',
    colorScheme: 'light',
    viewport: { width: 1280, height: 916 },
  },
  { name: 'story-ko-dark', path: '/stories?lang=ko', colorScheme: 'dark', viewport: DESKTOP },
  { name: 'choose-phone', path: '/choose', colorScheme: 'light', viewport: { width: 390, height: 760 } },
  { name: 'live', path: '/live', colorScheme: 'light', viewport: DESKTOP },
  { name: 'key-dark', path: '/key?key=user:3', colorScheme: 'dark', viewport: DESKTOP },
  { name: 'policies', path: '/policies', colorScheme: 'light', viewport: DESKTOP },
  { name: 'race', path: '/race', colorScheme: 'light', viewport: { width: 1280, height: 600 } },
] as const

/** Parts of the dashboard that need a response of the service. */
const CONTENT: Partial<Record<string, string>> = {
  live: 'figure canvas',
  'key-dark': '.key-card',
  policies: '.policies',
  race: '[data-fact=tidegate-admitted]',
}

let browser: Browser
let service: ServerProcess
let file: ReturnType<typeof configFile>
let traffic: NodeJS.Timeout
beforeAll(async () => {
  file = configFile(FILE)
  service = await startProcess(['--config', file.path])
  browser = await launchBrowser()
  if (isWriting && !(await drawsKorean()))
    throw new Error('No Korean font found. Install one (on Debian: fonts-noto-cjk) and try again.')
  let i = 0
  traffic = setInterval(() => {
    // Some users send more requests than others.
    const user = Math.floor(Math.abs(Math.sin(++i)) ** 3 * 8)
    const policy = i % 4 === 0 ? 'global' : 'per-user'
    fetch(`${service.url}/api/v1/rate-limit/check?policy=${policy}&key=user:${user}`).catch(() => {})
  }, 20)
})
afterAll(async () => {
  clearInterval(traffic)
  await browser?.close()
  await service?.stop()
  file?.remove()
})

describe('screenshots', () => {
  it.each(PICTURES)('$name', async ({ name, path, colorScheme, viewport }) => {
    const { page, faults, close } = await openPage(browser, service, `/#${path}`, {
      colorScheme,
      viewport,
    })
    await page.locator('h1').waitFor()
    if (name === 'race') await page.getByRole('button', { name: WORDS.en.dashboard.race.start }).click()
    const content = CONTENT[name]
    if (content !== undefined) await page.locator(content).first().waitFor()
    // The charts, not the settings above them.
    if (name === 'compare') await page.locator('.transport').evaluate((bar) => bar.scrollIntoView())
    // Live needs time to draw lines.
    if (name === 'live') await page.waitForTimeout(isWriting ? 25_000 : 2500)
    else await page.waitForTimeout(500)
    const picture = await page.screenshot()
    expect(faults).toStrictEqual([])
    await close()
    const at = new URL(`${name}.png`, FOLDER)
    if (isWriting) {
      mkdirSync(FOLDER, { recursive: true })
      writeFileSync(at, picture)
    }
    expect(existsSync(at)).toBe(true)
    expect(sizeOf(readFileSync(at))).toStrictEqual(sizeOf(picture))
  })

  it('are shown in the README or the docs', () => {
    const shown = [
      'README.md',
      'docs/users/study-guide.md',
      'docs/users/study-guide.ko.md',
      'docs/operators/service.md',
    ]
      .map((page) => readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8'))
      .join('\n')
    const missing = PICTURES.filter(({ name }) => !shown.includes(`pictures/${name}.png`))
    expect(missing).toStrictEqual([])
  })
})

/** Without a Korean font, all letters look the same. */
async function drawsKorean(): Promise<boolean> {
  const page = await browser.newPage()
  const [one, other] = [await pictureOf('가'), await pictureOf('나')]
  await page.close()
  return !one.equals(other)

  async function pictureOf(text: string): Promise<Buffer> {
    await page.setContent(text)
    return page.screenshot()
  }
}

/** Width and height from the header of a PNG. */
function sizeOf(png: Buffer): number[] {
  return [png.readUInt32BE(16), png.readUInt32BE(20)]
}
