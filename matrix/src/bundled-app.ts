/** A server with a limit of 2 in Redis. It prints its port, and each warning of the process. */
const body = `
  const store = new RedisStore(process.env.REDIS_URL)
  const policy = fixedWindow({ limit: 2, window: '365d', name: process.env.POLICY })
  const limit = rateLimit({ limiter: createLimiter({ policy, store }) })
  const server = createServer(limit((_, response) => response.end('hello')))
  server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port))`

export const APP = {
  'app.mjs': `
    import { createServer } from 'node:http'
    import { createLimiter, fixedWindow } from '@tidegate/core'
    import { rateLimit } from '@tidegate/http/node'
    import { RedisStore } from '@tidegate/redis'
    ${body}`,
  'app.cjs': `
    const { createServer } = require('node:http')
    const { createLimiter, fixedWindow } = require('@tidegate/core')
    const { rateLimit } = require('@tidegate/http/node')
    const { RedisStore } = require('@tidegate/redis')
    ${body}`,
}
