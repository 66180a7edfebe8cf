import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type BodyOptions, RequestBody } from './request-body.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
})
afterEach(() => void vi.useRealTimers())

function bodyWith(options: Partial<BodyOptions>): { message: PassThrough; body: RequestBody } {
  const message = Object.assign(new PassThrough(), { headers: {} })
  const response = new PassThrough() as unknown as ServerResponse
  const body = new RequestBody(message as unknown as IncomingMessage, response, {
    maxBytes: undefined,
    idleMs: 1_000_000,
    minRate: 0,
    ...options,
  })
  return { message, body }
}

/** Lets streams forward the data. */
const flow = () => new Promise((resolve) => setImmediate(resolve))

describe('a request body', () => {
  it('times out if the client pauses, but not if the upstream does', async () => {
    const { message, body } = bodyWith({ idleMs: 100 })
    message.write(Buffer.alloc(100_000))
    await flow()
    vi.advanceTimersByTime(1000)
    expect(body.destroyed).toBe(false)
    while (body.read() !== null) await flow()
    vi.advanceTimersByTime(200)
    expect(body.errored).toMatchObject({ status: 408 })
  })

  it('must arrive at a minimum rate', async () => {
    const { message, body } = bodyWith({ minRate: 10 })
    body.resume()
    for (let second = 0; second < 19; second++) {
      message.write('x')
      await flow()
      vi.advanceTimersByTime(1000)
    }
    expect(body.destroyed).toBe(false)
    vi.advanceTimersByTime(1000)
    expect(body.errored).toMatchObject({ status: 408 })
  })

  it.each([
    [10, '0123456789'],
    [0, 'x'],
  ])('may take any time at a minimum rate of %d if it sends %j each second', async (minRate, text) => {
    const { message, body } = bodyWith({ minRate })
    body.resume()
    for (let second = 0; second < 100; second++) {
      message.write(text)
      await flow()
      vi.advanceTimersByTime(1000)
    }
    expect(body.destroyed).toBe(false)
  })

  it('is not rejected because of a slow upstream', async () => {
    const { message, body } = bodyWith({ minRate: 1_000_000 })
    message.write(Buffer.alloc(100_000))
    await flow()
    vi.advanceTimersByTime(60_000)
    expect(body.destroyed).toBe(false)
  })
})
