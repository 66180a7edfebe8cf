import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../config/load.js'

const ROUTE = 'spring.cloud.gateway.routes: [{ id: a, uri: "http://127.0.0.1:1", predicates: [Path=/**] }]\n'

function load(yaml: string) {
  const loaded = loadConfig({ text: ROUTE + yaml, env: {} })
  if ('errors' in loaded) return { errors: loaded.errors.map(({ path, message }) => `${path}: ${message}`) }
  const { warnings, unused } = loaded.config.notices
  return { warnings: warnings.map(({ path, message }) => `${path}: ${message}`), unused }
}

describe('an unused option of a Spring file', () => {
  it.each([
    'spring: { application: { name: a } }',
    'spring.cache.type: none',
    'spring.cloud.kubernetes.enabled: true',
    'eureka: { client: { enabled: true } }',
    'logging.level.root: DEBUG',
    'logging.level.com.example.ratelimiter: DEBUG',
    'app: { port: 1 }',
    'service.url: http://a',
    'management.endpoints.web.exposure.include: "*"',
    'spring.cloud.gateway.discovery.locator.enabled: false',
    'spring.cloud.gateway.metrics.enabled: true',
    'spring.cloud.gateway.httpserver.wiretap: true',
    'spring.cloud.gateway.x-forwarded.enabled: false',
    'spring.cloud.gateway.fail-on-route-definition-error: true',
    'spring.cloud.gateway.httpclient.pool.type: elastic',
    'spring.cloud.gateway.loadbalancer.use404: true',
    'spring.cloud.gateway.restrictive-property-accessor.enabled: true',
    'spring.cloud.gateway.streamingMediaTypes: [text/event-stream]',
    'spring.cloud.gateway.globalcors.add-to-simple-url-handler-mapping: true',
    'springdoc: { api-docs: { enabled: true } }',
    'storefront: { url: a }',
    'gateway-auth: { a: 1 }',
    'knife4j: { gateway: { enabled: true } }',
  ])('is listed: %s', (yaml) => {
    expect(load(yaml)).toMatchObject({ warnings: [], unused: [expect.any(String)] })
  })

  it.each([
    ['spring.security.oauth2.client: {}', 'does not authenticate'],
    ['jwt: { secret: a }', 'does not authenticate'],
    ['auth.whitelist: [/login]', 'does not authenticate'],
    ['spring.config.import: optional:nacos:routes.yaml', 'is not read'],
    ['spring.cloud.config.uri: http://a', 'is not read'],
    ['spring.cloud.sentinel.eager: true', 'these limits are not read'],
    ['resilience4j.ratelimiter.instances.a: {}', 'these limits are not read'],
    ['bucket4j: { enabled: true }', 'these limits are not read'],
    ['app: { api: [{ rateLimit: 60 }] }', 'these limits are not read'],
    ['spring.cloud.gateway.redisRateLimiter.includeHeaders: true', 'into args of each'],
    ['rate-limit: { max-requests: 60 }', 'these limits are not read'],
    ['app: {}\nspring.ratelimiter: {}', 'these limits are not read'],
    ['server.ssl.key-store: classpath:a.p12', 'write gateway: { listen: { tls'],
    ['server.ssl.enabled: true', 'the gateway serves plain HTTP'],
    ['spring.cloud.gateway.discovery.locator.enabled: true', 'only the routes of the file'],
    [
      'spring.cloud.gateway.redis-rate-limiter.config.a.replenishRate: 1',
      'into args of each RequestRateLimiter',
    ],
    ['spring.cloud.gateway.filter.request-rate-limiter.deny-empty-key: false', 'into args of the filters'],
    ['spring.cloud.gateway.trusted-proxies: 10\\..*', 'no proxy is trusted'],
    ['spring.cloud.gateway.httpclient.ssl.useInsecureTrustManager: true', 'always verified'],
    ['spring.cloud.gateway.server.webflux.httpclient.proxy.host: a', 'reached directly'],
  ])('is a warning if it protects something: %s', (yaml, warning) => {
    expect(load(yaml)).toMatchObject({ warnings: [expect.stringContaining(warning)] })
  })

  it.each([
    ['rule: []', 'did you mean "rules"?'],
    ['trustedProxy: []', 'did you mean "trustedProxies"?'],
    ['rulse: []', 'did you mean "rules"?'],
    ['spring.cloud.gateway.route: []', 'did you mean "routes"?'],
    ['spring.cloud.gateway.server.webflux.defaultFilter: []', 'did you mean "default-filters"?'],
    ['spring.cloud.gatewy.routes: []', 'did you mean "gateway"?'],
    ['spring.cluod.gateway.routes: []', 'did you mean "cloud"?'],
    ['spring.cloud.gateway.mvc.routes: []', 'is not supported'],
    ['spring.cloud.gateway.filters: [RateLimiter]', 'write it into a route; for all routes'],
    ['spring.cloud.gateway.server.webflux.predicates: [Path=/a]', 'write it into a route'],
  ])('is an error if it is misspelled: %s', (yaml, error) => {
    expect(load(yaml)).toMatchObject({ errors: [expect.stringContaining(error)] })
  })
})

it.each([
  ['certificate', 'certificate-private-key'],
  ['certificate-private-key', 'certificate'],
])('server.ssl.%s alone is an error', (name, missing) => {
  const error = `server.ssl.${missing}: is missing; write for example ${missing}: /etc/tidegate/tls`
  expect(load(`server.ssl.${name}: a.pem`)).toMatchObject({ errors: [expect.stringContaining(error)] })
  expect(load(`server.ssl: { ${name}: a.pem, enabled: false }`)).toMatchObject({ warnings: [] })
})

describe('limits of a Spring file', () => {
  const limited = (args: string) =>
    load(
      `spring.data.redis.host: a\nspring.cloud.gateway.default-filters: [{ name: RequestRateLimiter, args: { redis-rate-limiter: { replenishRate: 1, burstCapacity: 2 }, ${args} } }]`,
    )

  it.each([
    ['', "the default bean of Spring is not available, so the client's address is counted"],
    [
      'key-resolver: "#{@ipKeyResolver}"',
      "the bean ipKeyResolver is not available; judging by its name, the client's address is counted",
    ],
    [
      'key-resolver: "#{@pathKeyResolver}"',
      'the bean pathKeyResolver is not available; judging by its name, the path is counted',
    ],
  ])('are kept with a warning if the bean is not available: %s', (args, warning) => {
    expect(limited(args)).toMatchObject({ warnings: [expect.stringContaining(warning)] })
  })

  it('have the position of their first key if they are written with dotted keys', () => {
    const yaml = `${ROUTE}spring.cloud.gateway.default-filters[0].name: RequestRateLimiter\n`
    expect(loadConfig({ text: yaml, env: {} })).toMatchObject({
      errors: [{ line: 2, path: 'spring.cloud.gateway.default-filters[0]' }],
    })
  })

  it('are an error if the bean is unknown', () => {
    expect(limited('key-resolver: "#{@tenantResolver}"')).toMatchObject({
      errors: [expect.stringContaining('"tenantResolver" is not defined in the file')],
    })
  })

  it('are an error if the same list is also written in another spelling', () => {
    const yaml =
      'spring.cloud.gateway:\n  default-filters: [RateLimiter]\n  defaultFilters: [PreserveHostHeader]'
    expect(load(yaml)).toMatchObject({
      errors: [expect.stringContaining('duplicate option "default-filters[0]" in another spelling')],
    })
  })

  it('are an error if a later document replaces their route with a part of it', () => {
    expect(load('---\nspring.cloud.gateway.routes[0].uri: http://b')).toMatchObject({
      errors: [expect.stringContaining('a document that changes a route must repeat all routes')],
    })
  })

  it.each([
    'SPRING_CLOUD_GATEWAY_DEFAULTFILTERS_0',
    'SPRING_CLOUD_GATEWAY_SERVER_WEBFLUX_ROUTES_0_FILTERS_0',
  ])('are an error in the variable %s, which is not read', (variable) => {
    const loaded = loadConfig({ text: ROUTE, env: { [variable]: 'RateLimiter' } })
    expect(loaded).toStrictEqual({
      errors: [{ path: variable, message: expect.stringContaining('are not read') }],
    })
  })

  it('warn about SPRING_APPLICATION_JSON, which is not read', () => {
    const loaded = loadConfig({ text: ROUTE, env: { SPRING_APPLICATION_JSON: '{}' } })
    expect(loaded).toMatchObject({
      config: { notices: { warnings: [{ message: expect.stringContaining('is not read') }] } },
    })
  })

  it('warn if there is no shared store', () => {
    const yaml = 'spring.cloud.gateway.default-filters: [RateLimiter]'
    expect(load(yaml)).toMatchObject({ warnings: [expect.stringContaining('each process counts alone')] })
    expect(load(`${yaml}\nstore: memory`)).toMatchObject({ warnings: [] })
  })
})

describe('a Spring gateway that is disabled', () => {
  it('has no routes', () => {
    const loaded = loadConfig({ text: `${ROUTE}spring.cloud.gateway.enabled: false`, env: {} })
    expect('config' in loaded && loaded.config.gateway).toBeUndefined()
  })
})
