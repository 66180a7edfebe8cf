import { setTimeout as sleep } from 'node:timers/promises'
import { launchBrowser } from '@tidegate/fixtures/browser'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServerProcess, startProcess } from '../../server/test/process.js'
import { faultsIn, openPage } from './browser.js'
import { eventAt, startFastService, told } from './fast-service.js'

/* What Live costs the browser: memory over an hour, and time while much happens. */

let browser: Browser
let open: ServerProcess
beforeAll(async () => {
  open = await startProcess([])
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await open?.stop()
})

describe('a page that is left open', () => {
  it('keeps no more after an hour than after some minutes', async () => {
    const fast = await startFastService(open)
    const { page, faults, close } = await openPage(browser, fast, '/#/live')
    const cdp = await page.context().newCDPSession(page)
    const usedBytes = async () => {
      for (let i = 0; i < 3; i++) await cdp.send('HeapProfiler.collectGarbage')
      return (await cdp.send('Runtime.getHeapUsage')).usedSize
    }
    try {
      await told(() => fast.tell(eventAt(0)))
      const pass = async (from: number, to: number) => {
        for (let second = from; second < to; second++) {
          fast.tell(eventAt(second))
          if (second % 20 === 0) await sleep(10)
        }
        await page.waitForFunction(
          (text) => document.querySelector('[data-fact="total:policy-0"]')?.textContent === text,
          ((to - 1) * 150).toLocaleString('en'),
        )
      }
      await pass(1, 900)
      const after15Minutes = await usedBytes()
      await pass(900, 3600)
      const afterAnHour = await usedBytes()
      expect(afterAnHour - after15Minutes).toBeLessThan(1_000_000)
      expect(faultsIn(faults)).toStrictEqual([])
    } finally {
      await close()
      await fast.close()
    }
  })

  it('has time left for every frame while 50 events come in a second', async () => {
    const fast = await startFastService(open)
    const { page, faults, close } = await openPage(browser, fast, '/#/live')
    try {
      await told(() => fast.tell(eventAt(0)))
      for (let second = 1; second < 300; second++) fast.tell(eventAt(second))
      await page.locator('.tiles').waitFor()
      await sleep(500)
      const measured = page.evaluate(
        () =>
          new Promise<{ frames: number; long: number; ms: number; busyMs: number }>((resolve) => {
            let frames = 0
            let long = 0
            let busyMs = 0
            const start = performance.now()
            const observer = new PerformanceObserver((list) => {
              long += list.getEntries().length
            })
            observer.observe({ type: 'longtask' })
            const channel = new MessageChannel()
            let frameMs = 0
            // After a frame's work and drawing, as soon as there is nothing else to do.
            channel.port1.onmessage = () => {
              busyMs += performance.now() - frameMs
            }
            const frame = () => {
              frames++
              frameMs = performance.now()
              channel.port2.postMessage(0)
              const ms = frameMs - start
              if (ms < 5000) requestAnimationFrame(frame)
              else {
                observer.disconnect()
                resolve({ frames, long, ms, busyMs })
              }
            }
            requestAnimationFrame(frame)
          }),
      )
      for (let second = 300; second < 550; second++) {
        fast.tell(eventAt(second))
        await sleep(20)
      }
      const { frames, long, ms, busyMs } = await measured
      console.log(
        `50 events a second: ${Math.round((1000 * frames) / ms)} frames a second, ${(busyMs / frames).toFixed(1)} ms each, ${long} long tasks in 5 s`,
      )
      // The machine may be busy with something else: what the page itself takes must leave room for 60 frames.
      expect(busyMs / frames).toBeLessThan(16)
      expect(long).toBeLessThan(10)
      expect(frames).toBeGreaterThan(100)
      expect(faultsIn(faults)).toStrictEqual([])
    } finally {
      await close()
      await fast.close()
    }
  })
})
