import { fixedWindow } from '@tidegate/core'
import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { rateLimit as forFastify } from '../src/frameworks/fastify.js'
import { rateLimit } from '../src/frameworks/node.js'

/* Mistakes in the options of middleware, and the line that the error says to write. */

const policy = fixedWindow({ limit: 5, window: '1m', name: 'five' })
const numbers = { limit: 5, window: '1m' }

it.each<[object, string]>([
  [
    { limitt: 5, window: '1m' },
    'rateLimit() has no option "limitt"; did you mean "limit"? It takes algorithm, limit,',
  ],
  [{ ...numbers, refund: true }, 'has no option "refund"; did you mean "refundWhen"?'],
  [
    { ...numbers, trustProxy: true },
    'has no option "trustProxy"; write proxies: { hops: 1 } for the proxies in front of the server.',
  ],
  [{ ...numbers, trustProxy: 2 }, 'write proxies: { hops: 2 }'],
  [{ ...numbers, trustedProxies: ['10.0.0.0/8'] }, "write proxies: { trusted: ['10.0.0.0/8'] }"],
  [
    { ...numbers, proxies: 1 },
    'proxies must be an object of trusted, hops, header and ipv6Prefix, got 1. Write proxies: { hops: 1 }.',
  ],
  [{ ...numbers, proxies: '10.0.0.1' }, "Write proxies: { trusted: ['10.0.0.1'] }."],
  [{ ...numbers, proxies: { hop: 1 } }, 'proxies has no option "hop"; did you mean "hops"?'],
  [{ limit: 2 }, "window is missing; write window: '1m'."],
  [{ window: '1m' }, 'limit is missing; write limit: 100.'],
  [
    { rules: [{ name: 'login', limit: 5, window: '1m' }] },
    "rules[0]: limit belongs to the policy of a rule. Write policy: fixedWindow({ limit: 5, window: '1m' }).",
  ],
  [
    { rules: [{ algorithm: 'token-bucket', capacity: 5, refillRate: '1/1s' }] },
    "Write policy: tokenBucket({ capacity: 5, refillRate: '1/1s' }).",
  ],
  [
    { rules: [{ key: 'ip:{ip}' }] },
    "rules[0]: policy is missing; write policy: fixedWindow({ limit: 100, window: '1m' }).",
  ],
  [
    { rules: [{ policy, keys: 'ip:{ip}' }] },
    'rules[0]: A rule has no "keys"; did you mean "key"? It takes name,',
  ],
  [
    { rules: [{ policy, match: { method: ['POST'] } }] },
    'rules[0]: match has no "method"; did you mean "methods"? It takes path, methods, header.',
  ],
  [
    { ...numbers, failure: true },
    'failure must be an object such as { deadlineMs: 100 }, or false, got true.',
  ],
  [{ ...numbers, store: class RedisStore {} }, "Write store: new RedisStore('redis://localhost:6379')."],
  [
    { limit: 5, windowMs: 36_288_000_000 },
    "Replace windowMs: 36288000000 with window: '366d' (the longest window), start: 'first-request'.",
  ],
  [{ limit: 5, windowMs: 366 * 86_400_000 }, "with window: '366d', start: 'first-request'."],
])('%j', (options, message) => {
  expect(() => rateLimit(options as never)).toThrow(message)
})

describe('the options of a route of Fastify', () => {
  const errorOf = async (limit: object) => {
    const app = fastify()
    try {
      await app.register(forFastify, { limit: 100, window: '1m' })
      app.get('/login', { config: { rateLimit: limit as never } }, () => 'hello')
      return undefined
    } catch (error) {
      return error
    } finally {
      await app.close()
    }
  }

  it.each<[object, string, string]>([
    [
      { colour: 'red' },
      'colour',
      'config.rateLimit of GET /login: rateLimit has no option "colour"; it takes ',
    ],
    [
      { limit: 5 },
      'window',
      "config.rateLimit of GET /login: window is missing; write window: '1m'. Options of a route replace the plugin's limit.",
    ],
  ])('%j: the error names the route', async (options, field, message) => {
    expect(await errorOf(options)).toMatchObject({ field, message: expect.stringContaining(message) })
  })

  it('without numbers, the limit of the plugin applies', async () => {
    expect(await errorOf({ cost: 2 })).toBeUndefined()
  })
})
