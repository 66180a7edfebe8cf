import { fixedWindow, MemoryStore, type Policy, TidegateError, tokenBucket } from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import { holds, hostileText } from '../../test/properties.js'
import { request } from '../../test/requests.js'
import { canonicalPath } from '../path/path.js'
import { defineRule, limitsFor, type RuleInput } from './rules.js'

const policies = new Map<string, Policy>([
  ['per-user', fixedWindow({ limit: 10, window: '1m', name: 'per-user' })],
  ['everybody', tokenBucket({ capacity: 100, refillRate: 10, name: 'everybody' })],
])
const rule = (input: Partial<RuleInput>) =>
  defineRule({ name: 'a rule', key: 'all', policy: 'per-user', ...input }, (name) => policies.get(name))

const matches = (match: RuleInput['match'], target: string, method = 'GET') => {
  const found = canonicalPath(target)
  if (found === undefined) throw new Error(`no path: ${target}`)
  return rule({ match: match ?? {} }).matches(request({}, { ...found, method }))
}

describe('a path pattern', () => {
  it.each<[string, string[], string[]]>([
    ['/', ['/', '//', '/?x=1', '/a/..'], ['/a']],
    [
      '/login',
      ['/login', '/login?x=1', '/login/', '//login', '/%6cogin', '/./login', '/a/../login'],
      ['/', '/login/a', '/logins', '/a/login', '/login.'],
    ],
    ['/login/', ['/login', '/login/'], ['/login/a']],
    ['/%6cogin', ['/login'], ['/6cogin']],
    // letters in either case: many servers take both
    ['/Login', ['/login', '/LOGIN', '/%4cogin'], ['/logon']],
    // parameters of segments, which many servers cut off
    ['/login', ['/login;v=1', '/login;', '/;x/login', '/login/;x', '/login;a/'], ['/x;/login']],
    ['/a/b', ['/a;x=1/b;y=2'], ['/a;/c']],
    ['/a;b', ['/a;b', '/a%3Bb'], ['/a']],
    // escapes of characters that need none
    ['/@me', ['/@me', '/%40me'], ['/me']],
    ['/%40me', ['/@me', '/%40me'], ['/me']],
    ["/a!$&'()+,=:b", ["/a!$&'()+,=:b", '/a%21%24%26%27%28%29%2b%2c%3d%3ab'], ['/ab']],
    ['/%2A', ['/*', '/%2a'], ['/a']],
    ['/a.b', ['/a.b'], ['/axb']],
    ['/straße', ['/stra%c3%9fe', '/stra\u00c3\u009fe'], ['/strasse']],
    ['/a b', ['/a%20b', '/a b'], ['/a+b']],
    // one segment
    [
      '/users/*',
      ['/users/7', '/users/a%20b', '/users/7/'],
      ['/users', '/users/', '/users/7/posts', '/user/7'],
    ],
    ['/users/{id}', ['/users/7'], ['/users', '/users/7/posts']],
    ['/users/{id}/posts/{post}', ['/users/7/posts/8'], ['/users/7/posts', '/users/posts/8']],
    ['/*', ['/a'], ['/', '/a/b']],
    // the rest
    ['/**', ['/', '/a', '/a/b/c'], []],
    [
      '/api/**',
      ['/api', '/api/', '/api/v1', '/api/v1/users', '/API/v1', '/x/../api/v1', '//api//v1'],
      ['/apis', '/', '/v1/api'],
    ],
    ['/users/*/**', ['/users/7', '/users/7/posts/8'], ['/users']],
    ['/a/**/b', ['/a/b', '/a/x/b', '/a/x/y/B'], ['/a', '/a/b/c', '/b']],
    // a part of a segment
    ['/files/*.txt', ['/files/a.txt', '/files/.txt', '/files/A.TXT'], ['/files/a.txt/b', '/files/atxt']],
    ['/a*b*c', ['/abc', '/axbxbxc'], ['/ab', '/acb', '/abcd']],
    ['/ab*ba', ['/abba', '/abxba'], ['/aba']],
  ])('%s', (path, yes, no) => {
    for (const target of yes) expect([target, matches({ path }, target)]).toStrictEqual([target, true])
    for (const target of no) expect([target, matches({ path }, target)]).toStrictEqual([target, false])
  })

  it('is one of several', () => {
    const match = { path: ['/login', '/api/**', '/users/{id}'] }
    for (const target of ['/login', '/api', '/api/x', '/users/7']) expect(matches(match, target)).toBe(true)
    for (const target of ['/', '/loginx', '/users', '/x/login']) expect(matches(match, target)).toBe(false)
  })

  it('takes time linear in the length of the path', () => {
    const match = { path: ['/*/*/*/*/*/*/*/*/x', '/a/**', '/{a}/{b}/x'] }
    expect(matches(match, `/${'b/'.repeat(100_000)}`)).toBe(false)
    expect(matches(match, `/b${';x'.repeat(100_000)}`)).toBe(false)
    expect(matches(match, `/${'b'.repeat(100_000)}/c/x`)).toBe(true)
    expect(matches({ path: '/*-*-*-*-*-*.txt' }, `/${'-'.repeat(100_000)}`)).toBe(false)
  }, 10_000)

  it('matches a long path against 100 rules almost as fast as against one', () => {
    const path = `/x${'%3B%40'.repeat(10_000)}`
    const rules = Array.from({ length: 100 }, (_, i) =>
      rule({ match: { path: `/login-${i}` }, key: 'path:{path}' }),
    )
    const msWith = (count: number) => {
      const some = rules.slice(0, count)
      const times = Array.from({ length: 7 }, () => {
        const startMs = performance.now()
        limitsFor(some, request({}, { path }))
        return performance.now() - startMs
      })
      return Math.min(...times)
    }
    msWith(100)
    // One lenient path per rule would cost 100 times as much.
    expect(msWith(100) / msWith(1)).toBeLessThan(25)
  })
})

describe('a rule', () => {
  it('matches every request if it has no conditions', () => {
    for (const match of [undefined, {}]) expect(matches(match, '/any/thing', 'PURGE')).toBe(true)
  })

  it.each<[string[], string, boolean]>([
    [['POST'], 'POST', true],
    [['POST'], 'GET', false],
    [['POST'], 'post', false],
    [['POST', 'PUT'], 'PUT', true],
    [['GET'], 'HEAD', true],
    [['HEAD'], 'GET', false],
    [['POST'], 'HEAD', false],
    [['M-SEARCH'], 'M-SEARCH', true],
  ])('with the methods %o matches %s: %s', (methods, method, isMatch) => {
    expect(matches({ methods }, '/', method)).toBe(isMatch)
  })

  it('ignores headers that override the method', () => {
    const post = rule({ match: { methods: ['POST'] } })
    const claimed = request({ 'x-http-method-override': 'GET' }, { method: 'POST' })
    expect(post.matches(claimed)).toBe(true)
  })

  it('matches headers by value or by presence', () => {
    const { matches: isMatch } = rule({ match: { header: { 'X-Plan': 'free', 'x-any': '*' } } })
    expect(isMatch(request({ 'x-plan': 'free', 'x-any': 'thing' }))).toBe(true)
    expect(isMatch(request({ 'x-plan': 'free' }))).toBe(false)
    expect(isMatch(request({ 'x-plan': 'Free', 'x-any': 'thing' }))).toBe(false)
    expect(isMatch(request({ 'x-any': 'thing' }))).toBe(false)
  })

  it('matches only if all conditions hold', () => {
    const { matches: isMatch } = rule({ match: { path: '/login', methods: ['POST'], header: { a: '1' } } })
    expect(isMatch(request({ a: '1' }, { path: '/login', method: 'POST' }))).toBe(true)
    expect(isMatch(request({ a: '2' }, { path: '/login', method: 'POST' }))).toBe(false)
    expect(isMatch(request({ a: '1' }, { path: '/login', method: 'PUT' }))).toBe(false)
    expect(isMatch(request({ a: '1' }, { path: '/logout', method: 'POST' }))).toBe(false)
  })

  it('is frozen, with its policy and a default cost of 1', () => {
    const made = rule({ name: 'each user', key: 'user:{header.x-user-id}' })
    expect(Object.isFrozen(made)).toBe(true)
    expect(made).toMatchObject({ name: 'each user', cost: 1, policy: policies.get('per-user') })
    expect(made.key.text).toBe('user:{header.x-user-id}')
    expect(made.match).toStrictEqual({})
    const match = { path: '/login', methods: ['POST'] }
    expect(rule({ name: 'login', match, key: 'ip:{ip}' }).match).toStrictEqual(match)
  })
})

describe('the limits of a request', () => {
  const rules = [
    rule({ name: 'everybody', policy: 'everybody' }),
    rule({ name: 'each user', key: 'user:{header.x-user-id}', cost: 2 }),
    rule({ name: 'login', match: { path: '/login', methods: ['POST'] }, key: 'ip:{ip}' }),
  ]
  const of = (facts: Parameters<typeof limitsFor>[1]) =>
    limitsFor(rules, facts).map((limit) => [limit.rule.name, limit.request.key, limit.request.cost])

  it('come from every rule that matches, in order', () => {
    const login = request({ 'x-user-id': '7' }, { path: '/login', method: 'POST', ip: '192.0.2.1' })
    expect(of(login)).toStrictEqual([
      ['everybody', 'all', 1],
      ['each user', 'user:7', 2],
      ['login', 'ip:192.0.2.1', 1],
    ])
  })

  it('leave out a rule without a key, instead of sharing one key among unknown clients', () => {
    expect(of(request({}, { path: '/login', method: 'POST' }))).toStrictEqual([['everybody', 'all', 1]])
    expect(limitsFor(rules.slice(1), request())).toStrictEqual([])
  })

  it('can be passed to a store', () => {
    const limits = limitsFor(rules, request({ 'x-user-id': '7' }))
    const result = new MemoryStore().take(limits.map((limit) => limit.request))
    expect(result.decisions.map((decision) => [decision.policy, decision.remaining])).toStrictEqual([
      ['everybody', 99],
      ['per-user', 8],
    ])
  })

  it('never throw for any request', () => {
    const all = [
      ...rules,
      rule({ match: { path: ['/a/**', '/{x}/b'], header: { a: '*' } }, key: '{path}:{ip}' }),
    ]
    const store = new MemoryStore()
    holds(hostileText(['/', 'a', 'b', ';', '%', '%40', '%2', '.', 'login', '**', '*', '{x}']), (text) => {
      const facts = request(
        { 'x-user-id': text, a: text },
        { path: `/${text}`, method: text, ip: text, query: text },
      )
      for (const limit of limitsFor(all, facts)) store.peek(limit.request)
    })
  })
})

describe('an invalid rule is rejected with a message that names the field', () => {
  it.each<[string, unknown, string | undefined, string]>([
    ['text', 'login', undefined, 'object of name, match, key'],
    ['a list', [], undefined, 'object of name'],
    ['an unknown field', { limit: 5 }, 'limit', 'name, match, key, policy, cost'],
    ['no name', { name: undefined }, 'name', "'login'"],
    ['an empty name', { name: '' }, 'name', '1 to 100'],
    ['a name with a line break', { name: 'a\nb' }, 'name', '1 to 100'],
    ['no key', { key: undefined }, 'key', 'A key template must be a string'],
    ['a key with an unknown source', { key: 'user:{ipp}' }, 'key', '"ipp" is not a source'],
    ['a key without braces', { key: 'ip' }, 'key', 'write "{ip}"'],
    ['no policy', { policy: undefined }, 'policy', 'undefined'],
    ['an unknown policy', { policy: 'unknown' }, 'policy', '"unknown"'],
    ['a policy of Object', { policy: '__proto__' }, 'policy', '"__proto__"'],
    ['a cost of 0', { cost: 0 }, 'cost', 'whole number of at least 1'],
    ['a cost as text', { cost: '1' }, 'cost', 'whole number of at least 1'],
    ['a cost above the limit', { cost: 11 }, 'cost', 'whose limit is 10'],
    ['a match that is not an object', { match: '/login' }, 'match', 'path, methods, header'],
    ['an unknown field of match', { match: { method: 'POST' } }, 'match.method', 'path, methods, header'],
    ['a path that is not text', { match: { path: 5 } }, 'match.path', "Write for example '/api/**'"],
    ['no paths', { match: { path: [] } }, 'match.path', "Write for example '/api/**'"],
    ['a path without a slash', { match: { path: 'login' } }, 'match.path', "'/login'"],
    ['an address', { match: { path: 'http://a/login' } }, 'match.path', 'must begin with a slash'],
    ['a list of paths with null', { match: { path: ['/a', null] } }, 'match.path', 'null must begin'],
    ['a path with a query', { match: { path: '/login?x' } }, 'match.path', 'patterns match the path only'],
    ['a path with two **', { match: { path: '/**/a/**' } }, 'match.path', 'more than once'],
    ['a path with one name twice', { match: { path: '/{a}/{a}' } }, 'match.path', 'a variable name twice'],
    [
      'a name with other text',
      { match: { path: '/a-{id}' } },
      'match.path',
      'combine a variable with other text',
    ],
    ['an expression', { match: { path: '/{id:a+}' } }, 'match.path', 'combine a variable with other text'],
    ['a path with half a brace', { match: { path: '/{a' } }, 'match.path', '"{a" is not a valid segment'],
    ['a path with //', { match: { path: '/a//b' } }, 'match.path', 'is not a valid segment'],
    ['a path with ..', { match: { path: '/a/../b' } }, 'match.path', 'is not a valid segment'],
    ['a path with a broken escape', { match: { path: '/a%zz' } }, 'match.path', 'is not a valid segment'],
    ['a path with a lone surrogate', { match: { path: '/\ud800' } }, 'match.path', 'is not a valid segment'],
    ['methods as text', { match: { methods: 'POST' } }, 'match.methods', "['POST']"],
    ['no methods', { match: { methods: [] } }, 'match.methods', "['POST']"],
    ['a method in lower case', { match: { methods: ['post'] } }, 'match.methods', "'POST'"],
    ['an invalid method', { match: { methods: ['PO ST'] } }, 'match.methods', 'upper case'],
    ['headers as a list', { match: { header: ['x-plan'] } }, 'match.header', "{ 'x-plan': 'free' }"],
    ['an invalid header name', { match: { header: { 'x plan': 'free' } } }, 'match.header', '"x plan"'],
    [
      'a header with a number',
      { match: { header: { 'x-plan': 1 } } },
      'match.header',
      'must be a string, got 1',
    ],
  ])('%s', (_title, input, field, message) => {
    const whole =
      typeof input === 'object' && !Array.isArray(input)
        ? { name: 'a', key: 'all', policy: 'per-user', ...input }
        : input
    const make = () => defineRule(whole as RuleInput, (name) => policies.get(name))
    expect(make).toThrow(TidegateError)
    expect(make).toThrow(expect.objectContaining({ code: 'RULE_INVALID', field }))
    expect(make).toThrow(message)
  })

  it('rejects an object that was not made by a policy factory', () => {
    const make = () =>
      defineRule({ name: 'a', key: 'all', policy: 'x' }, () => ({ name: 'x', limit: 1 }) as never)
    expect(make).toThrow(expect.objectContaining({ code: 'RULE_INVALID', field: 'policy' }))
  })
})
