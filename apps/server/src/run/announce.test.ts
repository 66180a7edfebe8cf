import { pino } from 'pino'
import { expect, it } from 'vitest'
import { loadConfig } from '../config/load.js'
import { announce } from './announce.js'

const ROUTE = 'spring.cloud.gateway.routes: [{ id: a, uri: "http://127.0.0.1:1", predicates: [Path=/**] }]\n'
const LIMITER = `spring.cloud.gateway.default-filters:
  - name: RequestRateLimiter
    args: { redis-rate-limiter.replenishRate: 1, redis-rate-limiter.burstCapacity: 1, key-resolver: "#{@userKeyResolver}" }
`

/** What a start with this Spring file logs about it. */
function noticesOf(yaml: string): object[] {
  const loaded = loadConfig({ text: ROUTE + yaml, env: {} })
  if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) })
  announce('http://127.0.0.1:8080', loaded.config, 'token', 1, log)
  return lines.slice(1, -1).map(({ level, ...fields }) => fields)
}

it('logs the profiles of a Spring file, and its unused sections if there are any', () => {
  expect(noticesOf('')).toStrictEqual([{ profiles: ['default'], msg: 'Spring file loaded' }])
  expect(noticesOf('eureka.client.enabled: true')).toStrictEqual([
    { profiles: ['default'], unused: ['eureka'], msg: 'Spring file loaded; some sections are not used' },
  ])
})

it('logs a warning about the file as a whole without an option', () => {
  expect(noticesOf(LIMITER)[0]).toStrictEqual({
    line: 1,
    msg: expect.stringMatching(/^no Redis is configured/),
  })
  expect(noticesOf('spring.config.import: optional:a.yml')[0]).toMatchObject({
    line: 2,
    option: 'spring.config.import',
    msg: expect.stringMatching(/^spring\.config\.import: is not read/),
  })
})
