import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, expect, it } from 'vitest'

// Two real processes on one Redis. Each has a Fastify app with two unnamed routes and an Express app.

let redis: RedisServer
const processes: ChildProcess[] = []

beforeAll(async () => {
  redis = await startRedis()
})

afterAll(async () => {
  for (const one of processes) {
    if (one.exitCode !== null) continue
    one.kill()
    await once(one, 'exit')
  }
  await redis?.stop()
})

async function start(): Promise<{ fastifyUrl: string; expressUrl: string }> {
  const file = fileURLToPath(new URL('../../test/two-processes.mjs', import.meta.url))
  const server = fork(file, [redis.url])
  processes.push(server)
  const ended = once(server, 'exit').then(() =>
    Promise.reject(new Error('The server ended before it listened.')),
  )
  const [urls] = await Promise.race([once(server, 'message'), ended])
  ended.catch(() => {})
  return urls
}

async function status(url: string, method: string): Promise<number> {
  const response = await fetch(url, { method })
  await response.text()
  return response.status
}

it('the same route shares its count across processes, and other routes do not', async () => {
  const [one, other] = await Promise.all([start(), start()])
  const login = ({ fastifyUrl }: typeof one) => status(`${fastifyUrl}/login`, 'POST')
  const signup = ({ fastifyUrl }: typeof one) => status(`${fastifyUrl}/signup`, 'POST')
  expect([await login(one), await login(other)]).toStrictEqual([200, 200])
  expect([await login(one), await login(other)]).toStrictEqual([429, 429])
  expect([await signup(one), await signup(other)]).toStrictEqual([200, 200])
  expect([await signup(one), await signup(other)]).toStrictEqual([429, 429])
  const page = ({ expressUrl }: typeof one) => status(expressUrl, 'GET')
  expect([await page(one), await page(other), await page(one), await page(other)]).toStrictEqual([
    200, 200, 429, 429,
  ])
})
