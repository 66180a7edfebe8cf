import { connect } from 'node:net'
import { concurrency, createLimiter, fixedWindow, type Policy } from '@tidegate/core'
import { expect, vi } from 'vitest'
import type { Stage } from './cases.js'
import type { AnyOptions } from './framework.js'
import { memoryStore } from './stores.js'

const one = concurrency({ limit: 1, name: 'one' })
const rate = fixedWindow({ limit: 5, window: '1m', name: 'rate' })

/** A store whose releases are counted, and each way to write a limit of one request at a time. */
function limitedToOne() {
  const store = memoryStore()
  const release = vi.spyOn(store, 'release')
  const left = (policy: Policy = one) => store.peek({ policy, key: 'all', cost: 1 }).remaining
  const ways: AnyOptions[] = [
    { policy: one, store },
    { limiter: createLimiter({ policy: one, store }) },
    { rules: [{ policy: rate }, { policy: one }], store, cost: () => 2 },
    { policy: () => one, store },
  ]
  return { store, release, left, ways: ways.map((options) => ({ ...options, key: 'all' })) }
}

/** In-flight limits, by title. Every framework has to pass all of them. */
export const SLOT_CASES: Record<string, (stage: Stage) => Promise<void>> = {
  async 'runs as many requests at once as there are slots'({ serve }) {
    const { ways, left, release } = limitedToOne()
    for (const options of ways) {
      release.mockClear()
      const { ask, begin, application } = await serve(options)
      const running = begin('/held/200')
      await new Promise((resolve) => running.once('response', resolve))
      const denied = await ask()
      expect([
        denied.status,
        denied.headers['retry-after'],
        denied.headers['ratelimit-policy'],
      ]).toStrictEqual([429, '1', expect.stringContaining('"one";q=1;qu="concurrent-requests"')])
      expect(JSON.parse(denied.text)).toMatchObject({ retry_after: 1 })
      expect(application.handled).toBe(1)
      application.release()
      await expect.poll(() => left()).toBe(1)
      expect((await ask()).status).toBe(200)
      await expect.poll(() => left()).toBe(1)
      // Once for each request, although a response both finishes and closes.
      expect(release).toHaveBeenCalledTimes(2)
    }
    // For the third way, two allowed requests at two units each. The denied request took nothing.
    expect(left(rate)).toBe(1)
  },

  async 'frees the slot of a client that disconnects'({ serve }) {
    const { ways, left, release } = limitedToOne()
    const { begin } = await serve(ways[0]!)
    const running = begin('/held/200')
    await new Promise((resolve) => running.once('response', resolve))
    expect(left()).toBe(0)
    running.destroy()
    await expect.poll(() => left()).toBe(1)
    expect(release).toHaveBeenCalledOnce()
  },

  async 'frees the slot of a client that disconnects before its request runs'({ serve }) {
    const { store, ways, left } = limitedToOne()
    const { check, take } = store
    const late = async <T>(decide: () => T): Promise<T> => {
      const decision = decide()
      request.destroy()
      await new Promise((resolve) => setTimeout(resolve, 50))
      return decision
    }
    vi.spyOn(store, 'check').mockImplementation((request) => late(() => check.call(store, request)) as never)
    vi.spyOn(store, 'take').mockImplementation((requests) => late(() => take.call(store, requests)) as never)
    const { begin } = await serve(ways[0]!)
    const request = begin('/')
    await expect.poll(() => left()).toBe(0)
    await expect.poll(() => left()).toBe(1)
  },

  async 'frees the slots of pipelined requests whose connection closes before their turn'(stage) {
    const three = concurrency({ limit: 3, name: 'three' })
    const store = memoryStore()
    const left = () => store.peek({ policy: three, key: 'all', cost: 1 }).remaining
    const { port, application } = await stage.serve({ policy: three, store, key: 'all' })
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /held/200 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3))
    await expect.poll(() => application.handled).toBe(3)
    expect(left()).toBe(0)
    socket.destroy()
    // The adapters of fetch handlers do not report this, and read the body to its end.
    if (['Fetch', 'Hono'].includes(stage.framework.name)) application.release()
    await expect.poll(() => left()).toBe(3)
  },

  async 'frees the slot after an error and after HEAD'({ serve }) {
    // A body with the status 204 is an error of its own in some frameworks.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ways, left } = limitedToOne()
    const { ask } = await serve(ways[0]!)
    for (const [path, method] of [
      ['/status/500', 'GET'],
      ['/', 'HEAD'],
      ['/status/204', 'GET'],
    ]) {
      expect((await ask(path, {}, method)).status, path).toBeLessThan(501)
      await expect.poll(() => left(), { message: `${method} ${path}` }).toBe(1)
    }
  },

  async 'lets a request finish whose slot was lost'({ serve }) {
    const { store, ways } = limitedToOne()
    const { ask, begin, application } = await serve(ways[0]!)
    const running = begin('/held/200')
    await new Promise((resolve) => running.once('response', resolve))
    store.reset({ policy: one, key: 'all' })
    const next = ask('/held/200')
    await expect.poll(() => application.handled).toBe(2)
    application.release()
    expect((await next).text).toBe('hello')
  },

  async 'counts slots in a dry run, and lets all requests pass'({ serve }) {
    const { ways, left } = limitedToOne()
    const { ask, begin, application } = await serve({ ...ways[0]!, enforce: false })
    const running = begin('/held/200')
    await new Promise((resolve) => running.once('response', resolve))
    expect((await ask()).headers['x-ratelimit-dry-run']).toBe('denied')
    expect(left()).toBe(0)
    application.release()
    await expect.poll(() => left()).toBe(1)
  },
}
