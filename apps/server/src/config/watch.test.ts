import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  watch as watchFolder,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Watch, type WatchOptions, watchConfig, watchEarly } from './watch.js'

// These are about what a real file system says and when, so they wait for it: there is no clock to hand in.

let folder = ''
let file = ''
let open: Watch[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-watch-'))
  file = join(folder, 'tidegate.yaml')
  writeFileSync(file, 'port: 1\n')
})
afterEach(() => {
  vi.useRealTimers()
  for (const watch of open) watch.close()
  open = []
  rmSync(folder, { recursive: true, force: true })
})

/** A watch, and a way to wait for its next call. */
function watched(options: WatchOptions, path = file) {
  let calls = 0
  let wake = () => {}
  const watch = watchConfig(
    path,
    () => {
      calls++
      wake()
    },
    options,
  )
  open.push(watch)
  return {
    calls: () => calls,
    close: () => watch.close(),
    async next(): Promise<void> {
      const before = calls
      const deadline = Date.now() + 10_000
      while (calls === before) {
        if (Date.now() > deadline) throw new Error('nothing was noticed')
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), wait(100)])
      }
    },
  }
}

/** What the file system says next. A watch from before has heard it first. */
async function event(): Promise<void> {
  const watcher = watchFolder(folder)
  await once(watcher, 'change')
  watcher.close()
}

/** From here on time passes only where the test says so; what the file system says still comes by itself. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
}

/** Events alone, and looking alone. */
const EVENTS = { debounceMs: 20, pollMs: 3_600_000 }
const POLL = { debounceMs: 1, pollMs: 20 }

describe('a change is noticed', () => {
  it('when the file is written in place', async () => {
    const watch = watched(EVENTS)
    const next = watch.next()
    writeFileSync(file, 'port: 2\n')
    await next
    expect(watch.calls()).toBe(1)
  })

  it('when another file takes its place, again and again', async () => {
    const watch = watched(EVENTS)
    for (const port of [2, 3]) {
      const next = watch.next()
      writeFileSync(join(folder, '.swap'), `port: ${port}\n`)
      renameSync(join(folder, '.swap'), file)
      await next
    }
    expect(watch.calls()).toBe(2)
  })

  it('when a link to its folder is swapped, as Kubernetes does', async () => {
    const mounted = join(folder, 'mounted')
    for (const [version, port] of [
      ['..1', 1],
      ['..2', 2],
    ] as const) {
      mkdirSync(join(mounted, version), { recursive: true })
      writeFileSync(join(mounted, version, 'tidegate.yaml'), `port: ${port}\n`)
    }
    symlinkSync('..1', join(mounted, '..data'))
    symlinkSync('..data/tidegate.yaml', join(mounted, 'tidegate.yaml'))
    const watch = watched(EVENTS, join(mounted, 'tidegate.yaml'))
    const next = watch.next()
    symlinkSync('..2', join(mounted, '..data_tmp'))
    renameSync(join(mounted, '..data_tmp'), join(mounted, '..data'))
    await next
    expect(watch.calls()).toBe(1)
  })

  it('by looking, where the system says nothing: a link to a file elsewhere', async () => {
    const elsewhere = join(folder, 'elsewhere')
    const here = join(folder, 'here')
    mkdirSync(elsewhere)
    mkdirSync(here)
    writeFileSync(join(elsewhere, 'real.yaml'), 'port: 1\n')
    symlinkSync(join(elsewhere, 'real.yaml'), join(here, 'tidegate.yaml'))
    const watch = watched(POLL, join(here, 'tidegate.yaml'))
    const next = watch.next()
    writeFileSync(join(elsewhere, 'real.yaml'), 'port: 2\n')
    await next
    expect(watch.calls()).toBe(1)
  })

  it('when a file that was gone comes back, also with its folder', async () => {
    const watch = watched(POLL)
    rmSync(folder, { recursive: true })
    await wait(100)
    expect(watch.calls()).toBe(0)
    const next = watch.next()
    mkdirSync(folder)
    writeFileSync(file, 'port: 2\n')
    await next
    expect(watch.calls()).toBe(1)
  })

  it('once, when it comes in many small pieces', async () => {
    stopTime()
    const watch = watched(EVENTS)
    for (let i = 0; i < 10; i++) {
      const heard = event()
      writeFileSync(file, `port: ${i + 2}\n`)
      await heard
      vi.advanceTimersByTime(EVENTS.debounceMs - 1)
      expect(watch.calls()).toBe(0)
    }
    vi.advanceTimersByTime(EVENTS.debounceMs)
    expect(watch.calls()).toBe(1)
  })
})

describe('nothing is noticed', () => {
  it('when a file beside it changes, or its times, or it is written as it was', async () => {
    const watch = watched(POLL)
    writeFileSync(join(folder, 'other.yaml'), 'x')
    utimesSync(file, new Date(0), new Date(0))
    writeFileSync(file, 'port: 1\n')
    await wait(300)
    expect(watch.calls()).toBe(0)
  })

  it('after it is closed, not even what is on its way', async () => {
    stopTime()
    const watch = watched({ debounceMs: 50, pollMs: 20 })
    for (const port of [2, 3]) {
      const heard = event()
      writeFileSync(file, `port: ${port}\n`)
      await heard
      watch.close()
    }
    vi.advanceTimersByTime(1000)
    expect(watch.calls()).toBe(0)
  })
})

it('what changes before there is anybody to tell is told as soon as there is', async () => {
  const watch = watchEarly(file, POLL)
  open.push(watch)
  writeFileSync(file, 'port: 2\n')
  // Long enough to notice it, as a rule; if it is noticed later, it is told later.
  await wait(200)
  await new Promise<void>((resolve) => watch.tell(resolve))
  writeFileSync(file, 'port: 3\n')
  await new Promise<void>((resolve) => watch.tell(resolve))
})
