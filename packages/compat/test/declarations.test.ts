import fastifyRateLimit from '@fastify/rate-limit'
import { ThrottlerModule } from '@nestjs/throttler'
import { rateLimit as expressRateLimit8 } from 'express-rate-limit'
import { rateLimit as expressRateLimit7 } from 'express-rate-limit-7'
import { fastify } from 'fastify'
import fastifyRateLimit10 from 'fastify-rate-limit-10'
import { rateLimiter } from 'hono-rate-limiter'
import ratelimit from 'koa-ratelimit'
import { expect, it } from 'vitest'
import { tidegateStore as expressStore } from '../src/express-rate-limit.js'
import { tidegateStore as fastifyStore } from '../src/fastify-rate-limit.js'
import { tidegateStore as honoStore } from '../src/hono-rate-limiter.js'
import { tidegateStore as koaStore } from '../src/koa-ratelimit.js'
import { tidegateStore as nestStore } from '../src/nestjs-throttler.js'

it('the stores have the types that each library declares', async () => {
  expect(expressRateLimit8({ store: expressStore() })).toBeTypeOf('function')
  expect(expressRateLimit7({ store: expressStore() })).toBeTypeOf('function')
  expect(rateLimiter({ keyGenerator: () => 'a', store: honoStore() })).toBeTypeOf('function')
  expect(ratelimit({ driver: 'redis', db: koaStore() })).toBeTypeOf('function')
  const throttlers = [{ ttl: 1000, limit: 1 }]
  expect(ThrottlerModule.forRoot({ throttlers, storage: nestStore() })).toHaveProperty('providers')
  const app = fastify()
  await app.register(async (scope) => {
    await scope.register(fastifyRateLimit, { store: fastifyStore() })
    expect(scope.hasDecorator('rateLimit')).toBe(true)
  })
  await app.register(async (scope) => {
    await scope.register(fastifyRateLimit10, { store: fastifyStore() })
    expect(scope.hasDecorator('rateLimit')).toBe(true)
  })
  await app.close()
})
