import { until } from '@tidegate/fixtures/until'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { type TestUpstream, upstreamOf } from '../../test/gateway.js'
import type { Config } from '../config/config.js'
import { loadConfig } from '../config/load.js'
import { reload } from './reload.js'
import { type RunningService, serve } from './serve.js'

let upstream: TestUpstream
let serving: RunningService

afterEach(async () => {
  await serving?.close()
  await upstream?.close()
})

/** A configuration with a gateway to one upstream under this path. */
function configured(id: string, port = 0): Config {
  const route = `{ id: ${id}, uri: ${upstream.url}, predicates: [ "Path=/${id}/**" ] }`
  const text = `gateway: { listen: ${port}, routes: [ ${route} ] }`
  const loaded = loadConfig({ text, env: {}, flags: { port: '0' } })
  if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
  return loaded.config
}

const log = pino({ level: 'silent' })
const statusOf = async (path: string) => (await fetch(serving.service.gateway!.url + path)).status

describe('the gateway of a service', () => {
  it('serves beside the API, is part of its metrics, and stops with it', async () => {
    upstream = await upstreamOf((_request, response) => void setTimeout(() => response.end(), 100))
    serving = await serve({ config: configured('a'), log })
    const { url } = serving.service.gateway!
    expect(await statusOf('/a')).toBe(200)
    const metrics = async () => (await fetch(`${serving.url}/metrics`)).text()
    await until('it is seen', async () =>
      (await metrics()).includes('gateway_requests_total{route="a",status="2xx"} 1'),
    )
    const inFlight = fetch(`${url}/a`)
    await until('it has begun', () => upstream.sockets.size > 0)
    await serving.close()
    expect((await inFlight).status).toBe(200)
    await expect(fetch(`${url}/a`)).rejects.toThrow()
    await expect(fetch(serving.url)).rejects.toThrow()
  })

  it('reloads routes without a restart, and warns of options that need one', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    serving = await serve({ config: configured('a'), log })
    const lines: string[] = []
    const lineLog = pino({}, { write: (line: string) => void lines.push(line) })
    const take = (config: Config) =>
      reload(serving.service, { text: '{}', load: () => ({ config }), file: 'file', log: lineLog })
    take(configured('b'))
    expect([await statusOf('/a'), await statusOf('/b')]).toStrictEqual([404, 200])
    expect(lines.join()).not.toContain('restart')
    take(configured('c', 1))
    expect(await statusOf('/c')).toBe(200)
    expect(lines.at(-1)).toContain('"options":["gateway"]')
    take(configured('a'))
    expect(lines.at(-1)).not.toContain('restart')
  })

  it('that cannot listen prevents the start, without leaving anything open', async () => {
    upstream = await upstreamOf((_request, response) => response.end())
    const taken = Number(new URL(upstream.url).port)
    await expect(serve({ config: configured('a', taken), log })).rejects.toThrow('EADDRINUSE')
  })
})
