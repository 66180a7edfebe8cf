import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendRaw, statusOf } from '../../../test/raw-http.js'
import { startService, type TestService } from '../../../test/start-service.js'
import { homeRoutes } from './home-route.js'

describe('the dashboard', () => {
  let service: TestService
  let html: string
  beforeAll(async () => {
    service = await startService()
    html = (await service.get('/')).body
  })
  afterAll(() => service?.close())
  const assets = () => [...html.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map((match) => match[1]!)

  it('is served at / with a content security policy that allows only its own files', async () => {
    const { status, headers } = await service.get('/')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toBe('no-cache')
    const policy = headers.get('content-security-policy')!
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(html).toContain('<meta name="tidegate-service"')
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=|https?:\/\//i)
  })

  it('serves files with their content type, immutable if the name has a hash', async () => {
    expect(assets().length).toBeGreaterThanOrEqual(3)
    for (const path of assets()) {
      const { status, headers } = await service.get(path)
      expect(status).toBe(200)
      const type = { js: 'application/javascript', css: 'text/css', svg: 'image/svg+xml' }[
        path.split('.').at(-1)!
      ]
      expect(headers.get('content-type')).toContain(type)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      const isHashed = path.startsWith('/assets/')
      expect(headers.get('cache-control')).toBe(isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    }
  })

  it('responds with 304 to a known ETag, and compressed if the client accepts gzip', async () => {
    const path = assets().find((path) => path.endsWith('.js'))!
    const ask = (headers: Record<string, string>, method = 'GET') =>
      fetch(service.url + path, { method, headers })
    const identity = await ask({ 'accept-encoding': 'identity' })
    const etag = identity.headers.get('etag')!
    expect(identity.headers.get('content-encoding')).toBeNull()
    const gzip = await ask({ 'accept-encoding': 'br, gzip' })
    expect(gzip.headers.get('content-encoding')).toBe('gzip')
    expect(gzip.headers.get('vary')).toBe('accept-encoding')
    expect(await gzip.text()).toBe(await identity.text())
    expect((await ask({ 'accept-encoding': 'gzip;q=0, br' })).headers.get('content-encoding')).toBeNull()
    // Not with fetch, which adds Cache-Control: no-cache to conditional requests.
    const statusFor = async (tag: string) => {
      const head = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nif-none-match: ${tag}\r\nconnection: close\r\n\r\n`
      return statusOf(await sendRaw(service.url, head))
    }
    for (const tag of [etag, `"other", ${etag}`, '*']) expect(await statusFor(tag)).toBe(304)
    expect(await statusFor('"other"')).toBe(200)
    const head = await ask({}, 'HEAD')
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
  })

  it('is smaller than 200 kB compressed', async () => {
    let bytes = 0
    for (const path of ['/', ...assets()]) {
      const response = await sendRaw(
        service.url,
        `GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n`,
      )
      bytes += Number(/content-length: (\d+)/i.exec(response)![1])
    }
    expect(bytes).toBeLessThan(200_000)
  })

  it.each([
    '/../package.json',
    '/..%2fpackage.json',
    '/assets/../../package.json',
    '/assets/..%2f..%2fpackage.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/..\\package.json',
    '/assets//etc/passwd',
    '//etc/passwd',
    '/index.html%00.js',
    '/assets/',
    '/assets',
    '/.gitignore',
  ])('responds with 4xx to %s', async (path) => {
    const answer = await sendRaw(
      service.url,
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /)
    expect(answer).not.toMatch(/"version"|root:/)
  })
})

describe('a dashboard that was not built', () => {
  let service: TestService
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-site-'))
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(async () => {
    await service?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each(['no file', 'no index.html'])(
    'with %s in its folder, is replaced by a short start page',
    async (what) => {
      mkdirSync(join(folder, 'no index.html', 'assets'), { recursive: true })
      writeFileSync(join(folder, 'no index.html', 'assets', 'a.js'), '1')
      const app = fastify()
      homeRoutes(app, service.service, join(folder, what))
      const answer = await app.inject('/')
      expect(answer.statusCode).toBe(200)
      expect(answer.body).toContain('href="/docs"')
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
      expect((await app.inject('/assets/a.js')).statusCode).toBe(404)
      await app.close()
    },
  )
})
