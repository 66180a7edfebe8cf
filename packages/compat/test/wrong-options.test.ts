import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createLimiter, fixedWindow, MemoryStore } from '@tidegate/core'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { expect, it } from 'vitest'
import { tidegateStore } from '../src/express-rate-limit.js'
import { tidegateStore as forFastify } from '../src/fastify-rate-limit.js'
import { tidegateStore as forKoa } from '../src/koa-ratelimit.js'
import { tidegateStore as forNest } from '../src/nestjs-throttler.js'
import { statusesOf } from './apps.mjs'

it('express-rate-limit with passOnStoreError denies if two limits would share one count', async () => {
  const memory = new MemoryStore()
  const logged: unknown[] = []
  const logger = { error: (error: unknown) => logged.push(error), warn() {} }
  const limit = () =>
    rateLimit({ windowMs: 60_000, limit: 2, passOnStoreError: true, store: tidegateStore(memory), logger })
  const app = express()
  app.use('/first', limit())
  app.use('/second', limit())
  app.use((_, response) => void response.end())
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    expect((await statusesOf(`${url}/first`, 3)).sort()).toStrictEqual([200, 200, 429])
    expect(await statusesOf(`${url}/second`, 3)).toStrictEqual([429, 429, 429])
    expect(logged).toContainEqual(expect.objectContaining({ code: 'POLICY_UNNAMED' }))
  } finally {
    server.close()
  }
})

it.each(Object.entries({ tidegateStore, forFastify, forKoa, forNest }))(
  '%s rejects options that belong to the policy of a limiter',
  (_, storeOf) => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 2, window: '1m', name: 'two' }) })
    expect(() => storeOf(limiter, { name: 'login' })).toThrow(
      /^name belongs to the limiter's policy\. .*or pass a store: tidegateStore\(store, \{ name: "login" \}\)\.$/,
    )
    expect(() => storeOf(limiter, { onStoreFailure: 'closed' })).toThrow(/^onStoreFailure belongs to/)
    expect(() => storeOf(limiter, {})).not.toThrow()
  },
)
