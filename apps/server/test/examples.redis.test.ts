import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type RedisServer, startRedis } from '@tidegate/fixtures/redis-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configFile, type ServerProcess, startProcess } from './process.js'
import { type RunningProgram, root, startProgram } from './program.js'
import { redisStore } from './start-service.js'

const example = (path: string) => join(root, 'examples', path)

let redis: RedisServer
let service: ServerProcess
let file: ReturnType<typeof configFile>
beforeAll(async () => {
  redis = await startRedis()
  // Unchanged except for the address of Redis and a long deadline: a busy machine must not look like an outage.
  const yaml = readFileSync(example('service/tidegate.yaml'), 'utf8')
  file = configFile(yaml.replace(/^store: redis:.*$/m, `store: ${redisStore(redis)}`))
  service = await startProcess(['--config', file.path])
})
afterAll(async () => {
  await service?.stop()
  file?.remove()
  await redis?.stop()
})

interface Result {
  readonly code: number
  readonly out: string
  readonly err: string
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<Result> {
  return new Promise((resolve) => {
    const { PATH = '' } = process.env
    const options = { env: { PATH, TIDEGATE_URL: service.url, ...env }, timeout: 30_000 }
    execFile(command, [...args], options, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err })
    })
  })
}

const CLOSED_PORT = 'http://127.0.0.1:1'

describe('examples/any-language/check.sh', () => {
  const check = (args: string[], env?: Record<string, string>) =>
    run('sh', [example('any-language/check.sh'), ...args], env)

  it('allows, and denies with the time to wait', async () => {
    for (let i = 0; i < 5; i++) {
      expect(await check(['shell job & more', 'login'])).toStrictEqual({ code: 0, out: 'allowed\n', err: '' })
    }
    const { code, out } = await check(['shell job & more', 'login'])
    expect(code).toBe(1)
    expect(out).toMatch(/^denied, try again in (900|8\d\d) seconds\n$/)
    expect((await check(['shell job & more'])).code).toBe(0)
  })

  it('distinguishes an invalid request from no response', async () => {
    const wrong = await check(['a', 'no-such-policy'])
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('Unknown policy')
    expect((await check(['a'], { TIDEGATE_URL: CLOSED_PORT })).code).toBe(3)
  })

  it.each([502, 503])('treats %i of a proxy as no response', async (status) => {
    const proxy = createServer((_request, response) => response.writeHead(status).end('<html>'))
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const { port } = proxy.address() as AddressInfo
    const { code, err } = await check(['a'], { TIDEGATE_URL: `http://127.0.0.1:${port}` })
    proxy.close()
    expect(code).toBe(3)
    expect(err).toMatch(/^(service|store) unavailable/)
  })
})

describe('examples/any-language/tidegate.py', () => {
  const python = (...args: string[]) =>
    run('python3', [example('any-language/tidegate.py'), '--url', service.url, '--timeout', '10', ...args])

  it('allows five, and denies two', async () => {
    const { code, out } = await python('python:1', '--policy', 'login', '--times', '7')
    const lines = out.trim().split('\n')
    expect(lines.slice(0, 5)).toStrictEqual([4, 3, 2, 1, 0].map((left) => `allowed, ${left} left`))
    expect(lines.slice(5).join('\n')).toMatch(/^(denied, try again in \d+ s\n?){2}$/)
    expect(code).toBe(1)
  })

  it('waits for Retry-After, but no longer than --wait', async () => {
    const bucket = ['python:2', '--policy', 'token_bucket', '--permits']
    expect((await python(...bucket, '100')).code).toBe(0)
    const patient = await python(...bucket, '20', '--wait', '60')
    expect(patient).toMatchObject({ code: 0, err: '' })
    expect(patient.out).toMatch(/^allowed/)
    const impatient = await python(...bucket, '100', '--wait', '1')
    expect(impatient.code).toBe(1)
    expect(impatient.out).toMatch(/^denied, try again in \d+ s$/m)
  })

  it('allows if the service is down, and explains an invalid request', async () => {
    expect(await python('python:4', '--url', CLOSED_PORT)).toMatchObject({
      code: 0,
      out: 'allowed, uncounted\n',
    })
    for (const wrong of [
      ['--permits', '0'],
      ['--permits', '1000'],
      ['--times', '0'],
    ]) {
      const { code, err } = await python('python:5', ...wrong)
      expect(code).toBe(2)
      expect(err).toContain(wrong[0]!.slice(2))
      expect(err).not.toContain('Traceback')
    }
  })
})

describe('examples/service/forwarder.mjs', () => {
  let upstream: Server
  let forwarder: RunningProgram
  const seen: IncomingMessage[] = []
  beforeAll(async () => {
    upstream = createServer((request, response) => {
      seen.push(request)
      if (request.url === '/dies') return void response.write('half', () => response.destroy())
      request.resume().on('end', () => response.setHeader('x-from', 'upstream').end(`hello ${request.url}`))
    })
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    forwarder = await startForwarder(service.url)
  })
  afterAll(async () => {
    await forwarder?.stop()
    upstream?.close()
  })

  const startForwarder = (tidegate: string) => {
    const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
    return startProgram({
      command: process.execPath,
      args: [example('service/forwarder.mjs'), to, '0'],
      env: { TIDEGATE_URL: tidegate, TIMEOUT_MS: '10000' },
    })
  }

  it('forwards allowed requests, with the rate limit headers', async () => {
    const response = await fetch(`${forwarder.url}/orders?a=b`, {
      method: 'POST',
      body: 'x'.repeat(100_000),
      headers: { 'x-user-id': 'alice', te: 'trailers' },
    })
    expect(await response.text()).toBe('hello /orders?a=b')
    expect(response.headers.get('x-from')).toBe('upstream')
    expect(response.headers.get('ratelimit-policy')).toContain('"per-user";q=100;w=60')
    const { method, headers } = seen.at(-1)!
    expect(method).toBe('POST')
    expect(headers['x-forwarded-for']).toBe('127.0.0.1')
    expect(headers.te).toBeUndefined()
  })

  it('denies by the rules of the file, without forwarding', async () => {
    const logIn = () => fetch(`${forwarder.url}//login/?next=/`, { method: 'POST' })
    for (let i = 0; i < 5; i++) expect((await logIn()).status).toBe(200)
    const passed = seen.length
    const denied = await logIn()
    expect(denied.status).toBe(429)
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(800)
    expect(await denied.json()).toMatchObject({ error: 'rate_limit_exceeded' })
    expect((await fetch(`${forwarder.url}/a%2fb`)).status).toBe(400)
    expect(seen).toHaveLength(passed)
  })

  it('ends the response if the upstream fails in the middle of it', async () => {
    const response = await fetch(`${forwarder.url}/dies`)
    await expect(response.text()).rejects.toThrow()
  })

  it('allows while Tidegate is unavailable', async () => {
    const alone = await startForwarder(CLOSED_PORT)
    try {
      expect((await fetch(`${alone.url}/orders`)).status).toBe(200)
      expect(alone.lines.join('\n')).toContain('Tidegate unavailable')
    } finally {
      expect(await alone.stop()).toBe(0)
    }
  })
})
