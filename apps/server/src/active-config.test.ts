import { MemoryStore } from '@tidegate/core'
import { expect, it } from 'vitest'
import { gatewayRequest } from '../test/gateway-request.js'
import { activateConfig } from './active-config.js'
import { loadConfig } from './config/load.js'
import { createMetrics } from './metrics/metrics.js'
import { createKeyTracker } from './top-keys/key-tracker.js'

const FILE = `
gateway:
  routes:
    - id: api
      uri: http://127.0.0.1:1
      filters:
        - { name: FixedWindowRateLimiter, args: { limit: 2, windowSeconds: 31622400 } }
        - RateLimiter=token_bucket
`

it('counts the limits of routes by algorithm and by policy, and keeps the counts after a reload', async () => {
  const metrics = createMetrics(() => true)
  const store = new MemoryStore()
  const load = () => {
    const loaded = loadConfig({ text: FILE, env: {} })
    if ('errors' in loaded) throw new Error('the file has errors')
    return activateConfig(loaded.config, {
      store,
      metrics,
      keys: createKeyTracker(),
      generatedAdminToken: '',
    })
  }
  const request = gatewayRequest()
  for (const activeConfig of [load(), load()]) {
    for (let i = 0; i < 2; i++) await activeConfig.router!.find(request)!.limiter!(request)
  }
  const text = await metrics.registry.metrics()
  for (const [labels, count] of [
    ['rate_limiter_policy_requests_total{policy="api-fixed-window",allowed="true"}', 2],
    ['rate_limiter_policy_requests_total{policy="api-fixed-window",allowed="false"}', 2],
    ['rate_limiter_policy_requests_total{policy="token_bucket",allowed="true"}', 4],
    ['rate_limiter_requests_total{algorithm="FIXED_WINDOW",allowed="true"}', 2],
    ['rate_limiter_requests_total{algorithm="TOKEN_BUCKET",allowed="true"}', 4],
  ]) {
    expect(text).toContain(`${labels} ${count}\n`)
  }
})
