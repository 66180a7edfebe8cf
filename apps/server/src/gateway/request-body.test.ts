import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { bodyOf } from './request-body.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it('does not run out of time while it is the upstream that is waited for, and does when it is the client', () => {
  const message = Object.assign(new PassThrough(), { headers: {} }) as unknown as IncomingMessage
  const response = new PassThrough() as unknown as ServerResponse
  const body = bodyOf(message, response, { maxBytes: undefined, idleMs: 100 })
  body.on('error', () => {})
  vi.advanceTimersByTime(1000)
  expect(body.destroyed).toBe(false)
  body.read()
  vi.advanceTimersByTime(100)
  expect(body.errored).toMatchObject({ status: 408 })
})
