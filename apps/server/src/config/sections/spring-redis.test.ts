import { describe, expect, it } from 'vitest'
import { loadConfig } from '../load.js'

const load = (redis: string, env: Record<string, string> = {}, rest = '') =>
  loadConfig({ text: `spring: { data: { redis: ${redis} } }\n${rest}`, env })

function storeOf(...args: Parameters<typeof load>) {
  const loaded = load(...args)
  if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
  return loaded.config.store
}

describe('the Redis options of a Spring file', () => {
  it.each([
    ['{ host: a }', 'redis://a:6379'],
    ['{ port: 7000 }', 'redis://localhost:7000'],
    ['{ host: a, port: "7000", database: 2 }', 'redis://a:7000/2'],
    ['{ host: "::1" }', 'redis://[::1]:6379'],
    ['{ host: a, ssl: true }', 'rediss://a:6379'],
    ['{ host: a, ssl: { enabled: true } }', 'rediss://a:6379'],
    ['{ host: a, ssl: { enabled: false } }', 'redis://a:6379'],
    ['{ url: "redis://u:p@a:1/3", host: ignored }', 'redis://u:p@a:1/3'],
    ['{ cluster: { nodes: "a:1, b:2" } }', 'redis+cluster://a:1,b:2'],
    ['{ cluster: { nodes: [a:1, b:2] } }', 'redis+cluster://a:1,b:2'],
    ['{ sentinel: { master: main, nodes: [a:1, b:2] } }', 'redis+sentinel://a:1,b:2/main'],
  ])('%s is %s', (redis, url) => {
    expect(storeOf(redis)).toMatchObject({ kind: 'redis', url })
  })

  it('accept a user and a password, which may be digits', () => {
    expect(storeOf('{ username: u, password: 0123 }')).toMatchObject({
      options: { username: 'u', password: '0123' },
    })
    expect(storeOf('{ host: a, password: }')).not.toHaveProperty('options.password')
  })

  it('enable TLS with Sentinel and Cluster too', () => {
    expect(storeOf('{ ssl: true, cluster: { nodes: a:1 } }')).toMatchObject({ options: { tls: {} } })
  })

  it('are optional, and are also read from Spring Boot 2 sections and from the environment', () => {
    const text = 'spring: { redis: { host: old } }'
    const loaded = loadConfig({ text, env: { SPRING_REDIS_PORT: '7' } })
    expect('config' in loaded && loaded.config.store).toMatchObject({ url: 'redis://old:7' })
    expect(storeOf('{}', { SPRING_DATA_REDIS_HOST: 'env' })).toMatchObject({ url: 'redis://env:6379' })
    expect(storeOf('{}')).toMatchObject({ kind: 'memory' })
  })

  it('are overridden by store.url, TIDEGATE_STORE and --store', () => {
    expect(storeOf('{ host: a }', {}, 'store: memory')).toMatchObject({ kind: 'memory' })
    expect(storeOf('{ host: a, password: x }', { TIDEGATE_STORE: 'redis://b' })).toMatchObject({
      url: 'redis://b',
    })
    expect(storeOf('{ host: a, password: x }', { TIDEGATE_STORE: 'redis://b' })).not.toHaveProperty(
      'options.password',
    )
    expect(storeOf('{ host: a }', {}, 'store: { deadline: 2s }')).toMatchObject({
      url: 'redis://a:6379',
      deadlineMs: 2000,
    })
  })

  it.each([
    ['{ url: "http://hunter2@a" }', /spring\.data\.redis\.url|is not a valid Redis address/],
    ['{ cluster: { nodes: a }, database: 1 }', /must be 0 with Sentinel or Cluster/],
    ['{ sentinel: { nodes: a } }', /the primary's name is missing/],
    ['{ host: a, prot: 1, port: x }', /must be a whole number/],
  ])('%s is an error without its secrets', (redis, message) => {
    const loaded = load(redis)
    const errors = 'errors' in loaded ? loaded.errors.map(({ message }) => message).join('\n') : ''
    expect(errors).toMatch(message)
    expect(errors).not.toContain('hunter2')
  })
})
