// One small application for each supported library. For tests and their child processes.
import 'reflect-metadata'
import { once } from 'node:events'
import { createServer } from 'node:http'
import fastifyRateLimit from '@fastify/rate-limit'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { tidegateStore as expressStore } from '@tidegate/compat/express-rate-limit'
import { tidegateStore as fastifyStore } from '@tidegate/compat/fastify-rate-limit'
import { tidegateStore as honoStore } from '@tidegate/compat/hono-rate-limiter'
import { tidegateStore as koaStore } from '@tidegate/compat/koa-ratelimit'
import { tidegateStore as nestStore } from '@tidegate/compat/nestjs-throttler'
import express from 'express'
import { rateLimit as expressRateLimit8 } from 'express-rate-limit'
import { rateLimit as expressRateLimit7 } from 'express-rate-limit-7'
import { fastify } from 'fastify'
import fastifyRateLimit10 from 'fastify-rate-limit-10'
import { Hono } from 'hono'
import { rateLimiter as honoRateLimiter } from 'hono-rate-limiter'
import Koa from 'koa'
import koaRatelimit6 from 'koa-ratelimit'
// @ts-expect-error: the declarations are for the package's own name.
import koaRatelimit5 from 'koa-ratelimit-5'

/**
 * @typedef {object} AppOptions
 * @property {number} limit
 * @property {number} windowMs
 * @property {import('@tidegate/compat/express-rate-limit').TidegateStoreOptions} [options]
 * @property {Record<string, unknown>} [library] more options of the library
 *
 * @typedef {(source: import('@tidegate/compat/express-rate-limit').LimiterOrStore | undefined, options: AppOptions) => Promise<App>} StartApp
 *
 * @typedef {object} App
 * @property {string} url
 * @property {() => Promise<void>} close
 */

/** @type {Record<string, StartApp>} */
export const APPS = {
  'express-rate-limit 8': (source, options) => startExpress(expressRateLimit8, source, options),
  'express-rate-limit 7': (source, options) => startExpress(expressRateLimit7, source, options),
  'hono-rate-limiter': startHono,
  '@fastify/rate-limit 11': (source, options) => startFastify(fastifyRateLimit, source, options),
  '@fastify/rate-limit 10': (source, options) => startFastify(fastifyRateLimit10, source, options),
  '@nestjs/throttler 6': startNest,
  'koa-ratelimit 6': (source, options) => startKoa(koaRatelimit6, source, options),
  'koa-ratelimit 5': (source, options) => startKoa(koaRatelimit5, source, options),
}

/**
 * @param {any} rateLimit
 * @param {Parameters<StartApp>[0]} source
 * @param {AppOptions} options
 */
function startExpress(rateLimit, source, { limit, windowMs, options, library }) {
  const app = express()
  app.use(rateLimit({ limit, windowMs, store: expressStore(source, options), ...library }))
  app.get('/', (_request, response) => void response.send('hello'))
  return listen(createServer(app))
}

/** @type {StartApp} */
async function startHono(source, { limit, windowMs, options, library }) {
  const app = new Hono()
  app.use(
    honoRateLimiter({
      limit,
      windowMs,
      keyGenerator: () => 'client',
      store: honoStore(source, options),
      ...library,
    }),
  )
  app.get('/', (c) => c.text('hello'))
  app.onError((_error, c) => c.text('error', 500))
  return listen(
    createServer(async (_request, response) => {
      const { status, headers } = await app.request('/')
      response.writeHead(status, Object.fromEntries(headers)).end()
    }),
  )
}

/**
 * @param {any} plugin
 * @param {Parameters<StartApp>[0]} source
 * @param {AppOptions} options
 */
async function startFastify(plugin, source, { limit, windowMs, options, library }) {
  const app = fastify({ forceCloseConnections: true })
  await app.register(plugin, {
    max: limit,
    timeWindow: windowMs,
    store: fastifyStore(source, options),
    ...library,
  })
  app.get('/', async () => 'hello')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, close: () => app.close() }
}

/** @type {StartApp} */
async function startNest(source, { limit, windowMs, options, library }) {
  class AppController {
    hello() {
      return 'hello'
    }
  }
  const hello = Object.getOwnPropertyDescriptor(AppController.prototype, 'hello') ?? {}
  Get()(AppController.prototype, 'hello', hello)
  Controller()(AppController)
  class AppModule {}
  Module({
    imports: [
      ThrottlerModule.forRoot({
        throttlers: [{ ttl: windowMs, limit, ...library }],
        storage: nestStore(source, options),
      }),
    ],
    controllers: [AppController],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(AppModule)
  const app = await NestFactory.create(AppModule, { logger: false, forceCloseConnections: true })
  await app.listen(0, '127.0.0.1')
  return { url: await app.getUrl(), close: () => app.close() }
}

/**
 * @param {any} ratelimit
 * @param {Parameters<StartApp>[0]} source
 * @param {AppOptions} options
 */
function startKoa(ratelimit, source, { limit, windowMs, options, library }) {
  const app = new Koa()
  app.silent = true
  app.use(ratelimit({ max: limit, duration: windowMs, db: koaStore(source, options), ...library }))
  app.use((context) => {
    context.body = 'hello'
  })
  return listen(createServer(app.callback()))
}

/**
 * @param {import('node:http').Server} server
 * @returns {Promise<App>}
 */
async function listen(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * The statuses of requests that are sent together.
 * @param {string} url
 * @param {number} count
 */
export async function statusesOf(url, count) {
  const responses = await Promise.all(Array.from({ length: count }, () => fetch(url)))
  return Promise.all(
    responses.map(async (response) => {
      await response.text()
      return response.status
    }),
  )
}
