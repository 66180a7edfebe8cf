import { describe, expect, it } from 'vitest'
import { replacePlaceholders } from './property-placeholders.js'

const env = { REDIS_HOST: 'redis', APP_EUREKASERVER: 'from-env', APP_OTHER_NAME: 'other', EMPTY: '' }
const properties = new Map([
  ['app.port', '8761'],
  ['app.registry', 'http://${app.name:localhost}:${app.port}'],
  ['app.eurekaserver', 'from-file'],
  ['app.empty', ''],
  ['loop.a', '${loop.b}'],
  ['loop.b', '${loop.a}'],
])
const replace = (written: string) => replacePlaceholders(written, env, (name) => properties.get(name))

describe('a placeholder', () => {
  it.each([
    ['text', 'text'],
    ['${REDIS_HOST}', 'redis'],
    ['${REDIS_HOST:localhost}', 'redis'],
    ['${MISSING:localhost}', 'localhost'],
    ['${MISSING:}', ''],
    ['${MISSING:http://a:1/}', 'http://a:1/'],
    ['${MISSING:-1}', '-1'],
    ['${app.port}', '8761'],
    ['${app.PORT}', '8761'],
    ['${app.registry}', 'http://localhost:8761'],
    ['${app.eureka-server}', 'from-env'],
    ['${app.other-name}', 'other'],
    ['${MISSING:${app.port}}', '8761'],
    ['${MISSING:${ALSO:x}}/y', 'x/y'],
    ['${app.${MISSING:port}}', '8761'],
    ['${EMPTY:fallback}', 'fallback'],
    ['${app.empty}', ''],
    ['a${app.port}b${app.port}', 'a8761b8761'],
    ['/red/(?<segment>.*), /$\\{segment}', '/red/(?<segment>.*), /$\\{segment}'],
    ['$${segment}', '${segment}'],
    ['\\${segment}', '${segment}'],
    ['#{@userKeyResolver}', '#{@userKeyResolver}'],
  ])('%s becomes %s', (written, text) => {
    expect(replace(written)).toMatchObject({ text })
  })

  it('reports values from the environment, which may be secret', () => {
    expect(replace('${app.port}${REDIS_HOST}')).toMatchObject({ values: ['redis'] })
  })

  it.each([
    ['${missing.property}', 'is neither an environment variable nor a property of the file'],
    ['${random.uuid}', 'is neither'],
    ['${toString}', 'is neither'],
    ['a ${', 'missing "}" of a placeholder'],
    ['${a:${b}', 'missing "}" of a placeholder'],
    ['${loop.a}', 'refers to'],
  ])('rejects %s', (written, problem) => {
    expect(replace(written)).toStrictEqual({ problem: expect.stringContaining(problem) })
  })

  it('is bounded if properties refer to each other', () => {
    const doubling = (name: string) => (name === 'a0' ? '' : `\${a${Number(name.slice(1)) - 1}:}`.repeat(50))
    expect(replacePlaceholders('${a12}', {}, doubling)).toHaveProperty('problem')
    const growing = (name: string) => (name === 'a0' ? 'x'.repeat(1000) : '${a0}'.repeat(100))
    expect(replacePlaceholders('${a1}', {}, growing)).toHaveProperty('problem')
  })
})
