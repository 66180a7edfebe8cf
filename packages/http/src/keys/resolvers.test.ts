import { expect, it } from 'vitest'
import { request } from '../../test/requests.js'
import { allOf, byApiKey, byHeader, byIp, byRoute, byUser, firstOf, resolverOf } from './resolvers.js'
import { sha256Hex } from './sha256.js'

const facts = request(
  { 'x-user-id': 'alice', 'x-api-key': 's3cret' },
  { ip: '192.0.2.1', route: '/users/:id', method: 'POST' },
)
const anonymous = request()

it.each([
  ['byIp()', byIp(), 'ip:192.0.2.1'],
  ['byHeader()', byHeader('X-User-Id'), 'header.x-user-id:alice'],
  ['byApiKey()', byApiKey(), `api-key:${sha256Hex('s3cret')}`],
  ['byRoute()', byRoute(), 'route:POST /users/:id'],
  ['byUser()', byUser(() => 'alice'), 'user:alice'],
  ['byUser() of a number', byUser(() => 123), 'user:123'],
  ['byUser() of a big number', byUser(() => 123n), 'user:123'],
  [
    'firstOf()',
    firstOf(
      byHeader('x-other'),
      byIp(),
      byUser(() => 'alice'),
    ),
    'ip:192.0.2.1',
  ],
  ['allOf()', allOf(byRoute(), byIp()), 'route:POST /users/:id|ip:192.0.2.1'],
])('%s finds its key', async (_, resolver, key) => {
  expect(await resolver.resolve(facts, undefined as never)).toBe(key)
})

it.each([
  ['byIp()', byIp()],
  ['byHeader()', byHeader('x-user-id')],
  ['byApiKey()', byApiKey()],
  ['byRoute()', byRoute()],
  ['byUser() of nothing', byUser(() => undefined)],
  ['byUser() of null', byUser(() => null)],
  ['byUser() of an empty text', byUser(() => '')],
  [
    'firstOf()',
    firstOf(
      byIp(),
      byUser(() => null),
    ),
  ],
  [
    'allOf()',
    allOf(
      byUser(() => 'alice'),
      byIp(),
    ),
  ],
])('%s returns undefined for a request without the value', async (_, resolver) => {
  expect(await resolver.resolve(anonymous, undefined as never)).toBeUndefined()
})

it('waits for promises', async () => {
  const late = byUser(async () => 'alice')
  expect(await late.resolve(facts, undefined)).toBe('user:alice')
  expect(
    await firstOf(
      byUser(async () => null),
      late,
    ).resolve(facts, undefined),
  ).toBe('user:alice')
  expect(await allOf(byIp(), late).resolve(facts, undefined)).toBe('ip:192.0.2.1|user:alice')
})

it('different values have different keys', async () => {
  const key = (one: string, other: string) =>
    allOf(
      byUser(() => one),
      byUser(() => other),
    ).resolve(facts, undefined)
  const pairs = [
    ['a', 'b|user:c'],
    ['a|user:b', 'c'],
    ['a%7Cuser:b', 'c'],
    ['a', 'b%7Cuser:c'],
  ] as const
  expect(new Set(await Promise.all(pairs.map(([one, other]) => key(one, other)))).size).toBe(pairs.length)
  // A user named like an address has another key than the address.
  const user = (name: string | null) =>
    firstOf(
      byUser(() => name),
      byIp(),
    ).resolve(facts, undefined)
  expect(await user('192.0.2.1')).not.toBe(await user(null))
  expect(await user('ip:192.0.2.1')).not.toBe(await user(null))
})

it('a text that is not a valid key is hashed', async () => {
  const long = 'x'.repeat(300)
  expect(await byUser(() => long).resolve(facts, undefined)).toBe(`sha256:${sha256Hex(`user:${long}`)}`)
  expect(await resolverOf(() => 'line\nbreak').resolve(facts, undefined)).toBe(
    `sha256:${sha256Hex('line\nbreak')}`,
  )
})

it('rejects a value that cannot be a key', async () => {
  const odd = { code: 'KEY_INVALID', field: 'key' }
  for (const found of [{}, [], true, Symbol('x'), Number.NaN]) {
    const resolving = resolverOf(() => found as never).resolve(facts, undefined)
    await expect(resolving).rejects.toThrow(expect.objectContaining(odd))
  }
  for (const found of [() => 'x', byIp()]) {
    const resolving = resolverOf(() => found as never).resolve(facts, undefined)
    await expect(resolving).rejects.toThrow(/Call a function that creates a resolver: write key: byIp\(\)\.$/)
  }
})

it.each([
  ['a number', () => resolverOf(5 as never), /a template such as/],
  ['null', () => resolverOf(null as never), /a template such as/],
  ['no function', () => byUser('id' as never), /\(request\) => request\.user\?\.id/],
  ['nothing to choose from', () => firstOf(), /takes resolvers, got .*Write for example/],
  [
    'text among resolvers',
    () => allOf(byIp(), 'ip' as never),
    /takes resolvers, got "ip"\. Write for example/,
  ],
  ['a function among resolvers', () => allOf((() => 'x') as never), /got \[function\]\. Write for example/],
  [
    'a resolver that is not called',
    () => resolverOf(byIp as never),
    /got the function that creates it\. Write key: byIp\(\)\.$/,
  ],
  [
    'byUser that is not called',
    () => resolverOf(byUser as never),
    /Write key: byUser\(\(request\) => request\.user\?\.id\)\.$/,
  ],
  [
    'one among resolvers',
    () => firstOf(byApiKey as never, byIp()),
    /got \[function byApiKey\]\. Write byApiKey\(\)\.$/,
  ],
  ['a header with a brace', () => byHeader('x}'), /In the key template/],
])('rejects %s', (_, make, message) => {
  expect(make).toThrow(message)
})
