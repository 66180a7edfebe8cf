import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendRaw } from '../../test/raw-http.js'
import { startService, type TestService } from '../../test/service.js'
import { homeRoutes } from './home.js'

describe('the page', () => {
  let service: TestService
  let html: string
  beforeAll(async () => {
    service = await startService()
    html = (await service.get('/')).body
  })
  afterAll(() => service?.close())
  const assets = () => [...html.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map((match) => match[1]!)

  it('is served at /, under a policy that lets in nothing but its own files', async () => {
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

  it('has files of the right types, which browsers may keep for ever if their name has a hash', async () => {
    expect(assets().length).toBeGreaterThanOrEqual(3)
    for (const path of assets()) {
      const { status, headers } = await service.get(path)
      expect(status).toBe(200)
      const type = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }[path.split('.').at(-1)!]
      expect(headers.get('content-type')).toContain(type)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      const isHashed = path.startsWith('/assets/')
      expect(headers.get('cache-control')).toBe(isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    }
  })

  it('is 304 for whoever has it already, and compressed for whoever can read that', async () => {
    const path = assets().find((path) => path.endsWith('.js'))!
    const ask = (headers: Record<string, string>, method = 'GET') =>
      fetch(service.url + path, { method, headers })
    const plain = await ask({ 'accept-encoding': 'identity' })
    const etag = plain.headers.get('etag')!
    expect(plain.headers.get('content-encoding')).toBeNull()
    const gzip = await ask({ 'accept-encoding': 'br, gzip' })
    expect(gzip.headers.get('content-encoding')).toBe('gzip')
    expect(gzip.headers.get('vary')).toBe('accept-encoding')
    expect(await gzip.text()).toBe(await plain.text())
    expect((await ask({ 'accept-encoding': 'gzip;q=0, br' })).headers.get('content-encoding')).toBeNull()
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      expect((await ask({ 'if-none-match': tag })).status).toBe(304)
    }
    expect((await ask({ 'if-none-match': '"other"' })).status).toBe(200)
    const head = await ask({}, 'HEAD')
    expect(head.status).toBe(200)
    expect(await head.text()).toBe('')
  })

  it('comes within 200 kB compressed, all of it together', async () => {
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
  ])('has nothing at %s', async (path) => {
    const answer = await sendRaw(
      service.url,
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /)
    expect(answer).not.toMatch(/"version"|root:/)
  })
})

describe('where the page was not built', () => {
  let service: TestService
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-site-'))
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(async () => {
    await service?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each(['nothing', 'no start'])('with %s in its folder, a few words stand in for it', async (what) => {
    mkdirSync(join(folder, 'no start', 'assets'), { recursive: true })
    writeFileSync(join(folder, 'no start', 'assets', 'a.js'), '1')
    const app = fastify()
    homeRoutes(app, service.service, join(folder, what))
    const answer = await app.inject('/')
    expect(answer.statusCode).toBe(200)
    expect(answer.body).toContain('href="/docs"')
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
    expect((await app.inject('/assets/a.js')).statusCode).toBe(404)
    await app.close()
  })
})
