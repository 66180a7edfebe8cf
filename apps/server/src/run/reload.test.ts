import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from '@tidegate/fixtures/until'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configFile, type ServerProcess, startProcess } from '../../test/process.js'
import { expositionAt, valueIn } from '../../test/scrape.js'
import { ask, CHECK } from '../../test/start-service.js'
import type { Config } from '../config/config.js'
import { type FileText, loadConfig, readText } from '../config/load.js'
import { startServer } from './start-server.js'

const policy = (limit: number) =>
  `policies: { mine: { algorithm: fixed-window, limit: ${limit}, window: 1d } }\n`

it('a file that is written while the service starts is active when it serves', async () => {
  const file = configFile(`log: { level: error }\nport: 0\n${policy(10)}`)
  const load = (text: FileText) => loadConfig({ text, env: {}, flags: {} })
  const text = readText(file.path)
  const starting = startServer({
    config: (load(text) as { config: Config }).config,
    text,
    load,
    file: file.path,
    workers: 1,
  })
  file.write(`log: { level: error }\nport: 0\n${policy(20)}`)
  const { url, close } = await starting
  try {
    const limit = async () => (await ask(`${url}${CHECK}?policy=mine&key=k`)).body.limit
    await until('the new limit', async () => (await limit()) === 20)
  } finally {
    await close()
    file.remove()
  }
})

describe('a file that changes', () => {
  let file: ReturnType<typeof configFile>
  let server: ServerProcess
  beforeEach(async () => {
    file = configFile(policy(10))
    server = await startProcess(['-c', file.path])
  })
  afterEach(async () => {
    await server?.stop()
    file.remove()
  })

  const check = async () => (await ask(`${server.url}${CHECK}?policy=mine&key=k`)).body
  const policiesPage = () => ask(`${server.url}/api/v1/admin/policies`, { headers: server.admin })
  const reloads = async (result: string) =>
    valueIn(await expositionAt(server.url), 'rate_limiter_config_reloads_total', { result })
  const linesWith = (text: string) => server.log().filter(({ msg }) => String(msg).includes(text))

  it('is active without a restart, and keeps the counts', async () => {
    expect(await check()).toMatchObject({ limit: 10, remaining: 9 })
    file.write(`${policy(20)}adminToken: new-admin-token-1\nrules: [{ name: all, key: all, policy: mine }]\n`)
    await until('the new limit', async () => (await check()).limit === 20)
    expect((await check()).remaining).toBeLessThan(19)
    expect((await ask(`${server.url}/api/v1/admin/policies`)).status).toBe(401)
    expect(await reloads('ok')).toBe(1)
    // Log lines and responses arrive through different pipes.
    await until('the line', async () => linesWith('Configuration reloaded').length > 0)
    expect(linesWith('Configuration reloaded')).toHaveLength(1)
    expect(linesWith('restart')).toHaveLength(0)
  })

  it('with errors changes nothing, is counted, and is logged once with its errors', async () => {
    file.write(policy(20).replace('limit', 'limits'))
    await until('the failure to be counted', async () => (await reloads('failed')) === 1)
    for (let i = 0; i < 5; i++) expect((await check()).limit).toBe(10)
    await until('the line', async () => linesWith('is invalid').length > 0)
    const lines = linesWith('is invalid')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: 'error' })
    expect(String(lines[0]?.errors)).toMatch(/tidegate\.yaml:1:\d+ .*limits/)
    expect(await reloads('ok')).toBe(0)
    file.write(policy(30))
    await until('the file that is right again', async () => (await check()).limit === 30)
  })

  it('in options that need a restart is reported, and other changes are active', async () => {
    file.write(`${policy(20)}port: 1\nstore: redis://localhost:1\nlimits: { stopTimeout: 9s }\n`)
    await until('the new limit', async () => (await check()).limit === 20)
    expect(await check()).not.toHaveProperty('degraded')
    await until('the warning', async () => linesWith('restart').length > 0)
    const [line] = linesWith('restart')
    expect(line).toMatchObject({ level: 'warn', options: ['store', 'limits'] })
  })

  it.each([
    ['empty', ''],
    ['empty but for comments', '\n# policies are to come\n'],
  ])('to a file that is %s changes nothing', async (_title, text) => {
    file.write(text)
    await until('the failure to be counted', async () => (await reloads('failed')) === 1)
    expect((await check()).limit).toBe(10)
    const { lastReload } = (await policiesPage()).body
    expect(lastReload.errors).toStrictEqual([`${file.path}: is empty; write {} to use the defaults`])
    file.write('{}\n')
    await until('the defaults', async () => (await check()).limit !== 10)
  })

  it('back to the options of the start needs no restart', async () => {
    const needRestart = async () => (await policiesPage()).body.lastReload?.needRestart
    file.write(`${policy(20)}limits: { stopTimeout: 1s }\n`)
    await until('the new limit', async () => (await check()).limit === 20)
    expect(await needRestart()).toStrictEqual(['limits'])
    // Still needed, although another option has just changed.
    file.write(`${policy(30)}limits: { stopTimeout: 1s }\n`)
    await until('another limit', async () => (await check()).limit === 30)
    expect(await needRestart()).toStrictEqual(['limits'])
    file.write(policy(40))
    await until('the last limit', async () => (await check()).limit === 40)
    expect(await needRestart()).toStrictEqual([])
  })

  it('does not apply to a request in flight, which uses the previous configuration', async () => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const body = JSON.stringify({ policy: 'mine', key: 'k' })
    const head = `POST ${CHECK} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n`
    socket.write(`${head}content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`)
    const [goAhead] = await once(socket, 'data')
    expect(String(goAhead)).toContain('100 Continue')
    file.write(`${policy(20)}callers: [{ name: shop, token: shop-caller-token, keyPrefix: "shop:" }]\n`)
    await until('callers', async () => (await ask(`${server.url}${CHECK}?policy=mine&key=k`)).status === 401)
    socket.write(body)
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 .*"limit":10,/s)
    socket.destroy()
  })

  it('removes the series of a deleted policy', async () => {
    await check()
    file.write(policy(10).replace('mine', 'other'))
    const policies = async () => {
      const { samples } = await expositionAt(server.url)
      const found = samples.filter(({ name }) => name === 'rate_limiter_policy_requests_total')
      return new Set(found.map(({ labels }) => labels.policy))
    }
    await until('the new policy', async () => (await policies()).has('other'))
    expect(await policies()).not.toContain('mine')
    expect((await ask(`${server.url}${CHECK}?policy=mine&key=k`)).status).toBe(404)
  })

  it('is reloaded on SIGHUP too', async () => {
    server.process.kill('SIGHUP')
    await until('it to be read', async () => (await reloads('ok')) === 1)
    expect((await check()).limit).toBe(10)
  })
})
