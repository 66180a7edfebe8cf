import { setTimeout as sleep } from 'node:timers/promises'
import { launchBrowser } from '@tidegate/fixtures/browser'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServerProcess, startProcess } from '../../server/test/process.js'
import { faultsIn, openPage } from './browser.js'
import { liveEvent, startFakeService } from './fake-service.js'

/* The cost of Live in the browser: memory over an hour, and frame time under many events. */

const MEASURED_MS = 3000

let browser: Browser
let service: ServerProcess
beforeAll(async () => {
  service = await startProcess([])
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await service?.stop()
})

describe('an open Live view', () => {
  it('uses no more memory after an hour than after 15 minutes', async () => {
    const fake = await startFakeService(service)
    const { page, faults, close } = await openPage(browser, fake, '/#/live')
    const cdp = await page.context().newCDPSession(page)
    const usedBytes = async () => {
      for (let i = 0; i < 3; i++) await cdp.send('HeapProfiler.collectGarbage')
      return (await cdp.send('Runtime.getHeapUsage')).usedSize
    }
    try {
      await fake.connected()
      const sendEvents = async (from: number, to: number) => {
        for (let second = from; second < to; second++) {
          fake.emit(liveEvent(second))
          if (second % 20 === 0) await sleep(10)
        }
        await page.waitForFunction(
          (text) => document.querySelector('[data-fact="total:policy-0"]')?.textContent === text,
          ((to - 1) * 150).toLocaleString('en'),
        )
      }
      await sendEvents(0, 900)
      const after15Minutes = await usedBytes()
      await sendEvents(900, 3600)
      await expect.poll(async () => (await usedBytes()) - after15Minutes).toBeLessThan(1_000_000)
      expect(faultsIn(faults)).toStrictEqual([])
    } finally {
      await close()
      await fake.close()
    }
  })

  it('leaves time for 60 frames a second at 50 events a second', async () => {
    const fake = await startFakeService(service)
    const { page, faults, close } = await openPage(browser, fake, '/#/live')
    const cdp = await page.context().newCDPSession(page)
    // CPU time, which does not include the time of other processes.
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
    const mainThreadMs = async () => {
      const { metrics } = await cdp.send('Performance.getMetrics')
      return 1000 * metrics.find(({ name }) => name === 'TaskDuration')!.value
    }
    let second = 0
    const emitNext = () => fake.emit(liveEvent(second++))
    const measureIdle = () => page.evaluate(countFrames, MEASURED_MS)
    const measureWithEvents = async () => {
      const beforeMs = await mainThreadMs()
      let isDone = false
      const counted = page.evaluate(countFrames, MEASURED_MS).finally(() => {
        isDone = true
      })
      while (!isDone) {
        emitNext()
        await sleep(20)
      }
      const { frames, long } = await counted
      return { frames, long, frameMs: ((await mainThreadMs()) - beforeMs) / frames }
    }
    try {
      await fake.connected()
      while (second < 300) emitNext()
      await page.locator('.tiles').waitFor()
      // A busy machine drops frames and prolongs tasks, but then the idle page drops frames too. One success out of three is
      // enough.
      let isSmooth = false
      for (let attempt = 1; !isSmooth; attempt++) {
        await sleep(500)
        const idle = await measureIdle()
        const { frames, long, frameMs } = await measureWithEvents()
        console.log(
          `50 events a second: ${frames} frames in ${MEASURED_MS} ms (${idle.frames} without events), ${frameMs.toFixed(1)} ms each, ${long} long tasks`,
        )
        const minFrames = Math.min(60, idle.frames / 3)
        const maxLong = 6 + Math.max(0, (60 * MEASURED_MS) / 1000 - idle.frames)
        isSmooth = frameMs < 16 && frames > minFrames && long < maxLong
        if (isSmooth || attempt < 3) continue
        expect(frameMs).toBeLessThan(16)
        expect(long).toBeLessThan(maxLong)
        expect(frames).toBeGreaterThan(minFrames)
      }
      expect(faultsIn(faults)).toStrictEqual([])
    } finally {
      await close()
      await fake.close()
    }
  })
})

/** Counts frames and long tasks. Runs in the page. */
function countFrames(measuredMs: number): Promise<{ frames: number; long: number }> {
  return new Promise((resolve) => {
    let frames = 0
    let long = 0
    const observer = new PerformanceObserver((list) => {
      long += list.getEntries().length
    })
    observer.observe({ type: 'longtask' })
    const startMs = performance.now()
    const onFrame = () => {
      frames++
      if (performance.now() - startMs < measuredMs) requestAnimationFrame(onFrame)
      else {
        observer.disconnect()
        resolve({ frames, long })
      }
    }
    requestAnimationFrame(onFrame)
  })
}
