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
import { type Watch, type WatchOptions, watchConfig, watchFromStart } from './watch.js'

// These tests wait for events of a real file system, so no clock can be injected.

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
        if (Date.now() > deadline) throw new Error('no change was detected')
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), wait(100)])
      }
    },
  }
}

/** The next event of the file system. A watch that is already open gets the event first. */
async function event(): Promise<void> {
  const watcher = watchFolder(folder)
  await once(watcher, 'change')
  watcher.close()
}

/** Stops the timers. Events of the file system still arrive. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
}

/** Only events, and only polling. */
const EVENTS = { debounceMs: 20, pollMs: 3_600_000 }
const POLL = { debounceMs: 1, pollMs: 20 }

describe('a change is detected', () => {
  it('when the file is written in place', async () => {
    const watch = watched(EVENTS)
    const next = watch.next()
    writeFileSync(file, 'port: 2\n')
    await next
    expect(watch.calls()).toBe(1)
  })

  it('when the file is replaced by a rename, also a second time', async () => {
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

  it('by polling, if there are no events: a link to a file in another folder', async () => {
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

  it('when a deleted file is created again, also with its folder', async () => {
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

  it('once, when the file is written many times in a row', async () => {
    stopTime()
    const watch = watched(EVENTS)
    for (let i = 0; i < 10; i++) {
      const changed = event()
      writeFileSync(file, `port: ${i + 2}\n`)
      await changed
      vi.advanceTimersByTime(EVENTS.debounceMs - 1)
      expect(watch.calls()).toBe(0)
    }
    vi.advanceTimersByTime(EVENTS.debounceMs)
    expect(watch.calls()).toBe(1)
  })
})

describe('no change is reported', () => {
  it('when another file changes, or only the times, or the same text is written', async () => {
    const watch = watched(POLL)
    writeFileSync(join(folder, 'other.yaml'), 'x')
    utimesSync(file, new Date(0), new Date(0))
    writeFileSync(file, 'port: 1\n')
    await wait(300)
    expect(watch.calls()).toBe(0)
  })

  it('after the watch is closed, not even a pending one', async () => {
    stopTime()
    const watch = watched({ debounceMs: 50, pollMs: 20 })
    for (const port of [2, 3]) {
      const changed = event()
      writeFileSync(file, `port: ${port}\n`)
      await changed
      watch.close()
    }
    vi.advanceTimersByTime(1000)
    expect(watch.calls()).toBe(0)
  })
})

it('a change before subscribe() is reported by subscribe()', async () => {
  const watch = watchFromStart(file, POLL)
  open.push(watch)
  writeFileSync(file, 'port: 2\n')
  // Usually long enough to detect the change; otherwise it is reported later.
  await wait(200)
  await new Promise<void>((resolve) => watch.subscribe(resolve))
  writeFileSync(file, 'port: 3\n')
  await new Promise<void>((resolve) => watch.subscribe(resolve))
})
