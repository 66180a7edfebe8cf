import type { Server } from 'node:http'
import fastifyRateLimit from '@fastify/rate-limit'
import { createLimiter, fixedWindow, MemoryStore, type Store } from '@tidegate/core'
import { rateLimit as forExpress } from '@tidegate/http/express'
import { rateLimit as forFastify } from '@tidegate/http/fastify'
import { RedisStore } from '@tidegate/redis'
import express, { type RequestHandler } from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import { fastify } from 'fastify'
import { Redis } from 'ioredis'
import { RedisStore as RateLimitRedis } from 'rate-limit-redis'

/*
 * Servers that respond `hello`, with or without a limiter. Each limiter has its default options and counts by client
 * address. Tidegate sends five headers by default and the libraries send the three legacy headers, so Tidegate is also
 * measured with those three. Nothing is denied and nothing expires.
 */

const LIMIT = 100_000_000
const HOUR_MS = 3_600_000

export type HttpContender = (redisUrl: string) => Promise<Server>

export const HTTP_CONTENDERS: Readonly<Record<string, HttpContender>> = {
  Express: async () => expressWith(),
  'Express + Tidegate': async () => expressWith(forExpress({ limiter: limiterOn(new MemoryStore()) })),
  'Express + Tidegate, legacy headers': async () =>
    expressWith(forExpress({ limiter: limiterOn(new MemoryStore()), standards: ['legacy'] })),
  'Express + express-rate-limit': async () => expressWith(expressRateLimit(LIBRARY_OPTIONS)),
  'Express + express-rate-limit, headers as Tidegate': async () =>
    expressWith(expressRateLimit({ ...LIBRARY_OPTIONS, standardHeaders: 'draft-8' })),
  'Express + Tidegate on Redis': async (url) =>
    expressWith(forExpress({ limiter: limiterOn(new RedisStore(url)) })),
  'Express + Tidegate on Redis, legacy headers': async (url) =>
    expressWith(forExpress({ limiter: limiterOn(new RedisStore(url)), standards: ['legacy'] })),
  'Express + rate-limit-redis': async (url) => {
    const client = new Redis(url)
    const sendCommand = (command: string, ...args: string[]) =>
      client.call(command, ...args) as Promise<number>
    return expressWith(expressRateLimit({ ...LIBRARY_OPTIONS, store: new RateLimitRedis({ sendCommand }) }))
  },
  Fastify: () => fastifyWith(async () => {}),
  'Fastify + Tidegate': () =>
    fastifyWith(async (app) => {
      await app.register(forFastify, { limiter: limiterOn(new MemoryStore()) })
    }),
  'Fastify + Tidegate, legacy headers': () =>
    fastifyWith(async (app) => {
      await app.register(forFastify, { limiter: limiterOn(new MemoryStore()), standards: ['legacy'] })
    }),
  'Fastify + @fastify/rate-limit': () =>
    fastifyWith(async (app) => {
      await app.register(fastifyRateLimit, { max: LIMIT, timeWindow: HOUR_MS })
    }),
}

const LIBRARY_OPTIONS = { windowMs: HOUR_MS, limit: LIMIT }

function limiterOn(store: Store) {
  return createLimiter({ store, policy: fixedWindow({ limit: LIMIT, window: HOUR_MS, name: 'api' }) })
}

async function expressWith(...middleware: RequestHandler[]): Promise<Server> {
  const app = express()
  for (const one of middleware) app.use(one)
  app.get('/', (_, response) => {
    response.send('hello')
  })
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve(server))
  })
}

async function fastifyWith(prepare: (app: ReturnType<typeof fastify>) => Promise<void>): Promise<Server> {
  const app = fastify()
  await prepare(app)
  app.get('/', async () => 'hello')
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server
}
