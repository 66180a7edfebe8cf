/** A program that uses every entry and its types. It is compiled, not run. */
export const consumer = `
import { createServer } from 'node:http'
import express from 'express'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { createRemoteLimiter, withBackoff } from '@tidegate/client'
import { tidegateStore as forExpressRateLimit } from '@tidegate/compat/express-rate-limit'
import { tidegateStore as forFastifyRateLimit } from '@tidegate/compat/fastify-rate-limit'
import { tidegateStore as forHonoRateLimiter } from '@tidegate/compat/hono-rate-limiter'
import { tidegateStore as forKoaRatelimit } from '@tidegate/compat/koa-ratelimit'
import { tidegateStore as forThrottler } from '@tidegate/compat/nestjs-throttler'
import { createLimiter, fixedWindow, TidegateError, type Decision, type Policy, type Store } from '@tidegate/core'
import { testStore } from '@tidegate/core/testing'
import { byIp, byUser, firstOf } from '@tidegate/http'
import { RateLimit, RateLimitExceededError } from '@tidegate/http/decorator'
import { rateLimit as forExpress } from '@tidegate/http/express'
import { rateLimit as forFastify } from '@tidegate/http/fastify'
import { rateLimit as forFetch } from '@tidegate/http/fetch'
import { rateLimit as forHono } from '@tidegate/http/hono'
import { rateLimit as forKoa } from '@tidegate/http/koa'
import { RateLimit as Limited, RateLimitModule, SkipRateLimit } from '@tidegate/http/nest'
import { rateLimit as forNode } from '@tidegate/http/node'
import { RedisStore } from '@tidegate/redis'

const policy: Policy = fixedWindow({ limit: 100, window: '1m' })
const limiter = createLimiter({ policy })
export const decision: Decision = limiter.check('user:1')
export const redis = (): Store => new RedisStore('redis://localhost')
export const suite = testStore
export const stores = [forExpressRateLimit(limiter), new (forFastifyRateLimit())({}), forHonoRateLimiter(), forThrottler()]
export const reset: Promise<[number, number, number]> = forKoaRatelimit(limiter).ratelimiter('a', 0, 1000, 100)
express().use(forExpress({ limiter, key: (request) => request.get('x-user-id') }))
const app = fastify()
app.register(forFastify, { limiter, key: (request) => request.hostname })
app.get('/', { config: { rateLimit: { cost: 5 } } }, async () => 'hello')
new Koa().use(forKoa({ limiter, cost: (context) => Number(context.get('x-cost')) }))
new Hono().use(forHono({ limiter, key: firstOf(byUser((c: { user?: string }) => c.user), byIp()) }))
createServer(forNode({ limiter })((request, response) => response.end(request.url)))
const handle = forFetch({ limiter })((request, env: { name: string }) => new Response(env.name + request.url))
export const remote = createRemoteLimiter({ url: 'http://localhost:8080', policy: 'api' })
export const patient: typeof fetch = withBackoff(fetch)
export const response: Promise<Response> = handle(new Request('http://localhost'), { name: 'x' })
export const module_ = RateLimitModule.forRoot({ limiter })
export const decorators = [Limited({ cost: 2 }), SkipRateLimit()]
export class Service {
  @RateLimit({ limit: 1, window: '1m', key: (user: string) => user })
  search(user: string, text: string): string {
    return user + text
  }
}
export function describeError(error: unknown): string | number {
  if (error instanceof TidegateError) return error.code
  return error instanceof RateLimitExceededError ? error.decision.retryAfterMs : 0
}
// @ts-expect-error: the option does not exist
forExpress({ limiter, windowMs: 5 })
// @ts-expect-error: an Express request does not have this method
forExpress({ limiter, key: (request) => request.nothing() })
`
