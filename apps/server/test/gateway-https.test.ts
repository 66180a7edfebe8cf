import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCertificate } from '@tidegate/fixtures/certificate'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type ServerProcess, startProcess } from './process.js'

// An upstream with TLS. Trusted certificates are an option of Node, so the gateway needs a separate process.

const folder = mkdtempSync(join(tmpdir(), 'tidegate-https-'))
const [certificate, config] = [join(folder, 'cert.pem'), join(folder, 'tidegate.yaml')]
let upstream: Server
let gateway: ServerProcess | undefined
beforeAll(async () => {
  const { key, cert } = makeCertificate()
  writeFileSync(certificate, cert)
  upstream = createServer({ key, cert }, (request, response) => {
    response.end(`hello ${request.headers.host} ${(request.socket as { servername?: string }).servername}`)
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  writeFileSync(config, `gateway: { listen: 0, routes: [ { id: a, uri: "https://localhost:${port}" } ] }\n`)
})
afterEach(async () => {
  await gateway?.stop()
  gateway = undefined
})
afterAll(() => {
  upstream?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function answerOf(env: Record<string, string>): Promise<Response> {
  gateway = await startProcess(['--config', config], env)
  const urls = gateway.log().map(({ msg }) => /^Gateway listening on (\S+)$/.exec(String(msg))?.[1])
  return fetch(urls.find((url) => url !== undefined)!, { headers: { 'x-user-id': 'a' } })
}

it('an https upstream gets its own host name, and its certificate is verified', async () => {
  const response = await answerOf({ NODE_EXTRA_CA_CERTS: certificate })
  const { port } = upstream.address() as AddressInfo
  expect(response.status).toBe(200)
  expect(await response.text()).toBe(`hello localhost:${port} localhost`)
})

it('an https upstream with an untrusted certificate gets 502', async () => {
  const response = await answerOf({})
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({ error: 'bad_gateway' })
})
