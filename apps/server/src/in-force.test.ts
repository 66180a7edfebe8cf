import { MemoryStore } from '@tidegate/core'
import { expect, it } from 'vitest'
import { gatewayRequest } from '../test/gateway-request.js'
import { loadConfig } from './config/load.js'
import { inForceOf } from './in-force.js'
import { createNotedKeys } from './live/noted-keys.js'
import { createMetrics } from './metrics/metrics.js'

const FILE = `
gateway:
  routes:
    - id: api
      uri: http://127.0.0.1:1
      filters:
        - { name: FixedWindowRateLimiter, args: { limit: 2, windowSeconds: 31622400 } }
        - RateLimiter=token_bucket
`

it('limits of routes are counted by algorithm and by policy, and count on when the file is read again', async () => {
  const metrics = createMetrics(() => true)
  const store = new MemoryStore()
  const load = () => {
    const loaded = loadConfig({ text: FILE, env: {} })
    if ('mistakes' in loaded) throw new Error('the file has mistakes')
    return inForceOf(loaded.config, { store, metrics, keys: createNotedKeys(), generatedAdminToken: '' })
  }
  const request = gatewayRequest()
  for (const inForce of [load(), load()]) {
    for (let i = 0; i < 2; i++) await inForce.router!.find(request)!.limit!(request)
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
