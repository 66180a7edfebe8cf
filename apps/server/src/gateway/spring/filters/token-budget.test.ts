import { ManualClock, MemoryStore } from '@tidegate/core'
import { until } from '@tidegate/fixtures/until'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { gatewayTo, type TestGateway } from '../../../../test/gateway.js'
import { gatewayRequest } from '../../../../test/gateway-request.js'
import { gatewayOf } from '../../../../test/gateway-routes.js'
import { type LlmUpstream, llmUpstream, USAGE } from '../../../../test/llm-upstream.js'
import type { Forward } from '../../route.js'
import { compileRoutes } from '../../routing/compile-routes.js'

const MESSAGE = 'y'.repeat(76)
const ESTIMATED_INPUT = 20

let upstream: LlmUpstream
let gateway: TestGateway | undefined

beforeAll(async () => {
  upstream = await llmUpstream()
})
afterAll(() => upstream.close())
afterEach(() => gateway?.close())

/** A gateway with the routes of a file, which counts in memory with a clock that stands still. */
async function startGateway(filters: string, policies: string) {
  const file = `
policies:
${policies}
gateway:
  keyResolvers:
    team: header.x-team
  routes:
    - id: models
      uri: ${upstream.url}
      filters:
${filters}
`
  const clock = new ManualClock(Date.parse('2030-01-01T10:00:30Z'))
  const store = new MemoryStore({ clock })
  const config = gatewayOf(file)
  const decisions: string[] = []
  const router = compileRoutes(config, store, ({ decision }) => {
    decisions.push(`${decision.policy} ${decision.allowed}`)
  })
  const route = router.find(gatewayRequest({}))!
  gateway = await gatewayTo({ ...route, id: 'all' })
  const policyOf = (name: string) =>
    [...config.routes[0]!.budgets.budgets, ...config.routes[0]!.limits.limits].find(
      ({ policy }) => policy.name === name,
    )!.policy
  const remaining = (name: string, key = 'red') =>
    store.peek({ policy: policyOf(name), key, cost: 1 }).remaining
  return { clock, decisions, remaining, route }
}

function post(model: string, more: object = {}, path = '/v1/chat/completions'): Promise<Response> {
  const body = { model, messages: [{ role: 'user', content: MESSAGE }], max_tokens: 500, ...more }
  return fetch(gateway!.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'x-team': 'red' },
  })
}

const TOKENS = '  tokens: { algorithm: fixed-window, limit: 1000, window: 1m }'
const BUDGET = '        - { name: TokenBudget, args: { policy: tokens, key-resolver: team } }'

describe('TokenBudget', () => {
  it('charges the actual tokens, and denies once they are used up', async () => {
    const { clock, decisions, remaining } = await startGateway(BUDGET, TOKENS)
    const statuses: number[] = []
    for (let n = 0; n < 20; n++) {
      const response = await post('echo', { max_tokens: USAGE.output })
      await response.text()
      statuses.push(response.status)
      const left = 1000 - (USAGE.input + USAGE.output) * statuses.filter((status) => status === 200).length
      await until(`${left} tokens are left`, () => remaining('tokens') === left)
    }
    // 17 of 56 are 952; the next would need 20 + 31.
    expect(statuses).toEqual([...Array(17).fill(200), ...Array(3).fill(429)])
    expect(decisions).toEqual(statuses.map((status) => `tokens ${status === 200}`))
    clock.set(Date.parse('2030-01-01T10:01:00Z'))
    expect((await post('echo')).status).toBe(200)
  })

  it('reserves at most a quarter of the limit for an output of unknown size', async () => {
    const { remaining } = await startGateway(BUDGET, TOKENS)
    const response = await post('echo', { max_tokens: undefined })
    await response.text()
    expect(response.headers.get('x-ratelimit-remaining')).toBe(String(1000 - ESTIMATED_INPUT - 250))
    await until('it is settled', () => remaining('tokens') === 1000 - USAGE.input - USAGE.output)
  })

  it('charges the overrun of a response that is larger than reserved', async () => {
    const { remaining } = await startGateway(BUDGET, TOKENS)
    await (await post('echo', { max_tokens: 1 })).text()
    await until('it is settled', () => remaining('tokens') === 1000 - USAGE.input - USAGE.output)
  })

  it('reserves no less after an output that max_tokens: 1 has cut off', async () => {
    const { remaining } = await startGateway(BUDGET, TOKENS)
    await (await post('echo', { max_tokens: 1 })).text()
    const left = 1000 - USAGE.input - USAGE.output
    await until('it is settled', () => remaining('tokens') === left)
    const response = await post('echo', { max_tokens: 400 })
    await response.text()
    expect(response.headers.get('x-ratelimit-remaining')).toBe(String(left - ESTIMATED_INPUT - 250))
  })

  it('counts in units of the cost expression', async () => {
    const filters = `        - { name: TokenBudget, args: { policy: money, key-resolver: team, cost: "input*3 + output*15", unit: micro-dollars } }`
    const { remaining } = await startGateway(
      filters,
      '  money: { algorithm: token-bucket, capacity: 1000000, refillRate: 1 }',
    )
    const response = await post('echo')
    await response.text()
    expect(response.headers.get('ratelimit-policy')).toBe('"money";q=1000000;w=1000000;qu="micro-dollars"')
    const cost = USAGE.input * 3 + USAGE.output * 15
    await until('it is settled', () => remaining('money') === 1_000_000 - cost)
  })

  it('reserves from several budgets or from none', async () => {
    const filters = `${BUDGET}
        - { name: TokenBudget, args: { policy: outputs, key-resolver: team, cost: output } }`
    const policies = `${TOKENS}
  outputs: { algorithm: sliding-window-log, limit: 40, window: 1m }`
    const { remaining } = await startGateway(filters, policies)
    expect((await post('echo')).status).toBe(200)
    await until('both are settled', () => remaining('tokens') === 944 && remaining('outputs') === 9)
    const denied = await post('echo')
    expect(denied.status).toBe(429)
    expect(denied.headers.get('ratelimit-policy')).toBe(
      '"tokens";q=1000;w=60;qu="tokens", "outputs";q=40;w=60;qu="tokens"',
    )
    expect(remaining('tokens')).toBe(944)
  })

  it('is decided after the other limits, whose headers it adds to', async () => {
    const filters = `        - { name: RateLimiter, args: { policy: requests, key-resolver: team } }
${BUDGET}`
    const policies = `${TOKENS}
  requests: { algorithm: fixed-window, limit: 2, window: 1m }`
    const { decisions, remaining } = await startGateway(filters, policies)
    const response = await post('echo')
    await response.text()
    expect(response.headers.get('ratelimit-policy')).toBe(
      '"requests";q=2;w=60, "tokens";q=1000;w=60;qu="tokens"',
    )
    expect(response.headers.get('x-ratelimit-limit')).toBe('1000')
    await post('echo')
    expect((await post('echo')).status).toBe(429)
    await until('both are settled', () => remaining('tokens') === 1000 - 2 * 56)
    expect(decisions.filter((line) => line.startsWith('tokens'))).toEqual(['tokens true', 'tokens true'])
  })

  it('does not expect output tokens of embeddings', async () => {
    await startGateway(BUDGET, TOKENS)
    const response = await post('echo', { input: 'x'.repeat(40), messages: undefined }, '/v1/embeddings')
    expect(response.headers.get('x-ratelimit-remaining')).toBe('990')
  })

  it('offers the upstream only codings in which it can read the usage', async () => {
    const { route } = await startGateway(BUDGET, TOKENS)
    const headers = new Map([['accept-encoding', 'gzip, zstd']])
    for (const filter of route.requestFilters) filter({ headers } as unknown as Forward)
    expect(headers.get('accept-encoding')).toBe('gzip')
  })

  it('keeps the outputs of a model after a reload', async () => {
    const store = new MemoryStore()
    const file = `
policies:
  tokens: { algorithm: fixed-window, limit: 10000, window: 1d }
gateway:
  routes:
    - { uri: ${upstream.url}, filters: [TokenBudget=tokens] }
`
    const routeOf = () => compileRoutes(gatewayOf(file), store, () => {}).find(gatewayRequest({}))!
    gateway = await gatewayTo({ ...routeOf(), id: 'all' })
    for (let n = 0; n < 100; n++) await (await post('echo')).text()
    await gateway.close()
    gateway = await gatewayTo({ ...routeOf(), id: 'all' })
    const response = await post('echo')
    expect(response.headers.get('x-ratelimit-remaining')).toBe(
      String(10_000 - 100 * (USAGE.input + USAGE.output) - ESTIMATED_INPUT - USAGE.output),
    )
  })
})
