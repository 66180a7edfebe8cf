import { assertKey, TidegateError } from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds, hostileText } from '../../test/properties.js'
import { request } from '../../test/requests.js'
import type { RequestFacts } from '../request.js'
import { sha256Hex } from './sha256.js'
import { parseExpression, parseTemplate } from './template.js'

const keyOf = (template: string, facts: RequestFacts) => parseTemplate(template).resolve(facts)

describe('a template', () => {
  const alice = request(
    { 'x-user-id': 'alice', cookie: 'theme=dark; sid="s%20id"; sid=s%20id', authorization: 'Bearer secret' },
    {
      method: 'POST',
      path: '/users/7',
      query: 'tenant=a%20b+c&x=&x=2&x=2',
      ip: '192.0.2.1',
      route: '/users/:id',
    },
  )
  it.each([
    ['all', 'all'],
    ['user:{header.x-user-id}', 'user:alice'],
    ['{header.X-User-ID}', 'alice'],
    ['ip:{ip}', 'ip:192.0.2.1'],
    ['{method} of {path}', 'POST of /users/7'],
    ['{route}', '/users/:id'],
    ['tenant:{query.tenant}', 'tenant:a b c'],
    ['{query.x}', '2'],
    ['{cookie.sid}', 's id'],
    ['{cookie.theme}', 'dark'],
    ['{sha256(header.authorization)}', sha256Hex('Bearer secret')],
    ['{ sha256( cookie.sid ) }', sha256Hex('s id')],
    ["{header.x-user-id | 'anonymous'}", 'alice'],
    ["user:{header.x-missing | 'anonymous'}", 'user:anonymous'],
    ["user:{header.x-missing|'it''s }|{ empty'}", "user:it's }|{ empty"],
    ["{'fixed'}", 'fixed'],
    ['{{{ip}}}', '{192.0.2.1}'],
    ['{{ip}}', '{ip}'],
    ['a}}{{b', 'a}{b'],
    ['사용자:{header.x-user-id}', '사용자:alice'],
  ])('%s makes %s', (template, key) => {
    expect(keyOf(template, alice)).toBe(key)
  })

  it.each([
    ['user:{header.x-user-id}', request()],
    ['user:{header.x-user-id}', request({ 'x-user-id': '' })],
    ['{ip}', request()],
    ['{route}', request()],
    ['{query.a}', request({}, { query: 'a' })],
    ['{query.a}', request({}, { query: 'a=&b=1&=2' })],
    ['{query.a}', request({}, { query: 'A=1' })],
    ['{cookie.a}', request()],
    ['{cookie.a}', request({ cookie: 'a=; b=1; a=""; =1; a' })],
    ['{sha256(cookie.a)}', request()],
    ['{path}:{header.x-user-id}', request()],
    ['{header.x | query.y}', request()],
    ['{header.__proto__ | header.constructor}', request()],
  ])('%s has no key for a request without it', (template, facts) => {
    expect(keyOf(template, facts)).toBeUndefined()
  })

  it('has its text, and whether it hashes a value', () => {
    const template = parseTemplate('user:{header.x-user-id}')
    expect([template.text, template.isSecret]).toStrictEqual(['user:{header.x-user-id}', false])
    expect(parseTemplate('{ip}:{header.a | sha256(cookie.sid)}').isSecret).toBe(true)
  })

  it('reads a value as applications do, so that each client has one key', () => {
    for (const cookie of ['sid=abc', 'sid="abc"', ' sid = abc ;', 'sid=%61bc', 'a=1; sid=abc; sid="abc"']) {
      expect(keyOf('{cookie.sid}', request({ cookie }))).toBe('abc')
    }
    for (const query of ['k=a+b', 'k=a%20b', '%6B=a%20b', 'x&k=a+b', '&&k=a+b&k=a%20b', 'k=&k=a+b']) {
      expect(keyOf('{query.k}', request({}, { query }))).toBe('a b')
    }
    // invalid escapes stay as they are
    expect(keyOf('{query.k}', request({}, { query: 'k=100%&j=%ff' }))).toBe('100%')
    expect(keyOf('{cookie.k}', request({ cookie: 'k=%E0%A4%A' }))).toBe('%E0%A4%A')
  })

  it('finds a parameter in linear time', () => {
    const query = `${'a&'.repeat(300_000)}k=v`
    expect(keyOf('{query.k}', request({}, { query }))).toBe('v')
    expect(keyOf('{cookie.k}', request({ cookie: `${'a;'.repeat(300_000)}k=v` }))).toBe('v')
  }, 10_000)
})

describe('an expression without a template', () => {
  it('is the content of the braces', () => {
    const template = parseExpression("header.x-user-id | 'anonymous'")
    expect(template.text).toBe("header.x-user-id | 'anonymous'")
    expect(template.resolve(request({ 'x-user-id': 'alice' }))).toBe('alice')
    expect(template.resolve(request())).toBe('anonymous')
    expect(parseExpression('ip').resolve(request({}, { ip: '192.0.2.1' }))).toBe('192.0.2.1')
  })

  it.each(['', '{ip}', 'user:{ip}', 'ip |', '| ip', 'ipp', 'ip path'])('is not %o', (text) => {
    expect(() => parseExpression(text)).toThrow(expect.objectContaining({ code: 'TEMPLATE_INVALID' }))
  })
})

describe('similar values have different keys', () => {
  it.each([
    // where one value ends and the next begins
    ['{header.a}:{header.b}', { a: 'a:b', b: 'c' }, 'a%3Ab:c'],
    ['{header.a}:{header.b}', { a: 'a', b: 'b:c' }, 'a:b%3Ac'],
    ['{header.a}:{header.b}', { a: 'a%3Ab', b: 'c' }, 'a%253Ab:c'],
    ['{header.a}-{header.b}', { a: 'a-b', b: 'c:d' }, 'a%2Db-c:d'],
    ['{header.a} and {header.b}', { a: 'a and b', b: 'c' }, 'a%20and%20b and c'],
    ['{header.a}é{header.b}', { a: 'é', b: 'c' }, '%C3%A9éc'],
    // which alternative a value is from
    ['{header.a | header.b}', { a: '1' }, '1'],
    ['{header.a | header.b}', { b: '1' }, 'header.b=1'],
    ['{header.a | header.b}', { a: 'header.b=1' }, 'header.b%3D1'],
    ["{header.a | 'anonymous'}", {}, 'anonymous'],
    ["{header.a | 'anonymous'}", { a: 'anonymous' }, 'header.a=anonymous'],
    ["{header.a | 'anonymous'}", { a: 'header.a=anonymous' }, 'header.a%3Danonymous'],
    ["{header.a | 'x=y'}", {}, 'x%3Dy'],
    ["{header.a | 'x=y'}", { a: 'x=y' }, 'header.a=x%3Dy'],
    ["{header.a | 'x:y'}:{header.b}", { b: 'z' }, 'x%3Ay:z'],
    ['{header.a | header.x-b}-{header.c}', { 'x-b': '1', c: '2' }, 'header.x%2Db=1-2'],
    // a single source is not escaped
    ['user:{header.a}', { a: '100%:=a' }, 'user:100%:=a'],
  ])('%s of %o is %s', (template, headers, key) => {
    expect(keyOf(template, request(headers as Record<string, string>))).toBe(key)
  })

  it('a user named like an address has another key than the address', () => {
    const template = parseTemplate('{header.x-user-id | ip}')
    const named = template.resolve(request({ 'x-user-id': '192.0.2.1' }, { ip: '203.0.113.9' }))
    const unnamed = template.resolve(request({}, { ip: '192.0.2.1' }))
    expect([named, unnamed]).toStrictEqual(['192.0.2.1', 'ip=192.0.2.1'])
  })

  it('in every template, for every two requests', () => {
    const names = ['a', 'b', 'c'] as const
    const separator = fc
      .oneof(
        fc.constantFrom(':', '-', ' ', '3', 'a', '::', 'é', '😀', ':%', ':=', '{'),
        fc.string({ minLength: 1, maxLength: 3 }),
      )
      .filter((text) => !/^[%=]/.test(text))
    const expression = fc.record({
      sources: fc.subarray([...names], { minLength: 1 }),
      literal: fc.option(fc.constantFrom('a', ':', 'header.a=x', '%', '=', 'anonymous', "'"), {
        nil: undefined,
      }),
      isHashed: fc.boolean(),
    })
    const value = fc.oneof(
      fc.constantFrom(
        '',
        'a',
        ':',
        '%',
        '=',
        'anonymous',
        '3',
        '%3A',
        'header.b=a',
        'header.a=x',
        '%3',
        '\n',
        '\ud83d',
        '\ude00',
        '😀',
        'é',
      ),
      fc.string({
        unit: fc.constantFrom('a', ':', '%', '=', '3', 'A', '-', ' ', 'é', '\ud83d', '\ude00'),
        maxLength: 4,
      }),
      fc.constantFrom('x'.repeat(300), 'x'.repeat(301)),
    )
    const headers = fc.record({ a: value, b: value, c: value })
    const template = fc.tuple(
      fc.string({ maxLength: 2 }),
      fc.array(fc.tuple(expression, separator), { minLength: 1, maxLength: 3 }),
    )
    let [same, different] = [0, 0]
    holds(
      fc.tuple(template, headers, headers),
      ([[prefix, parts], one, other]) => {
        const written = parts.map(([{ sources, literal, isHashed }, after], i) => {
          const alternatives = sources.map((name) => (isHashed ? `sha256(header.${name})` : `header.${name}`))
          if (literal !== undefined) alternatives.push(`'${literal.replaceAll("'", "''")}'`)
          return `{${alternatives.join('|')}}${i < parts.length - 1 ? after.replace(/[{}]/g, '$&$&') : ''}`
        })
        const parsed = parseTemplate(prefix.replace(/[{}]/g, '$&$&') + written.join(''))
        /** The alternative that each expression uses, and its value. */
        const outcome = (values: typeof one) => {
          const found = parts.map(([{ sources, literal }]) => {
            const name = sources.find((source) => values[source] !== '')
            return name === undefined
              ? literal === undefined
                ? undefined
                : ['literal']
              : [name, values[name]]
          })
          return found.includes(undefined) ? undefined : JSON.stringify(found)
        }
        const [key, otherKey] = [one, other].map((values) => parsed.resolve(request(values)))
        const isSame = outcome(one) === outcome(other)
        if (isSame) same++
        else different++
        expect([parsed.text, key === otherKey]).toStrictEqual([parsed.text, isSame])
        for (const made of [key, otherKey]) if (made !== undefined) assertKey(made)
      },
      10_000,
    )
    expect(Math.min(same, different)).toBeGreaterThan(300)
  })
})

describe('a value from a client', () => {
  const template = parseTemplate('user:{header.x-user-id}')
  const of = (value: string) => template.resolve(request({ 'x-user-id': value }))

  it('is hashed with the whole key if a key cannot be that long', () => {
    expect(of('x'.repeat(251))).toBe(`user:${'x'.repeat(251)}`)
    expect(of('x'.repeat(252))).toBe(`sha256:${sha256Hex(`user:${'x'.repeat(252)}`)}`)
    expect(of('名'.repeat(83))).toBe(`user:${'名'.repeat(83)}`)
    expect(of('名'.repeat(84))).toMatch(/^sha256:[\da-f]{64}$/)
    expect(of('😀'.repeat(62))).toBe(`user:${'😀'.repeat(62)}`)
    expect(of('😀'.repeat(63))).toMatch(/^sha256:[\da-f]{64}$/)
    expect(of('x'.repeat(1_000_000))).toMatch(/^sha256:[\da-f]{64}$/)
  })

  it('is hashed with the whole key if it has characters that a key cannot have', () => {
    const values = ['a\nb', 'a\rb', '\0', '\x7f', '\x80', '\x9f', '\ud800', '\udc00', 'a\ud800b']
    const keys = values.map(of)
    for (const key of keys) expect(key).toMatch(/^sha256:[\da-f]{64}$/)
    expect(new Set(keys).size).toBe(values.length)
  })

  it('cannot be chosen to equal the hash of another client', () => {
    const headerTemplate = parseTemplate('{header.x-user-id}')
    const victim = headerTemplate.resolve(request({ 'x-user-id': 'x'.repeat(300) }))!
    expect(victim).toMatch(/^sha256:[\da-f]{64}$/)
    const attacker = headerTemplate.resolve(request({ 'x-user-id': victim }))
    expect(attacker).toMatch(/^sha256:[\da-f]{64}$/)
    expect(attacker).not.toBe(victim)
  })

  it('always makes a valid key, and never throws', () => {
    const templates = [
      '{header.a}',
      'x:{query.a}:{cookie.a}',
      "{sha256(header.a) | query.a | 'none'}",
      '{method}:{path}:{ip}',
    ]
    const parsed = templates.map(parseTemplate)
    holds(hostileText(['a=', '&', ';', '=', '%', '+', '"', 'a', ':', '%41', '%ff', '{', '}']), (text) => {
      const facts = request({ a: text, cookie: text }, { query: text, path: text, method: text, ip: text })
      for (const { resolve } of parsed) {
        const key = resolve(facts)
        if (key !== undefined) assertKey(key)
      }
    })
  })
})

describe('an invalid template is rejected with advice', () => {
  it.each<[string, unknown, string]>([
    ['nothing', '', "user:{header.x-user-id | 'anonymous'}"],
    ['a number', 5, 'got 5'],
    ['an unknown source', 'user:{ipp}', 'at 6: "ipp" is not a source; write ip, method'],
    ['a source of Object', '{constructor}', 'is not a source'],
    ['a header without a name', '{header}', 'header.<name>'],
    ['a header with an empty name', '{header.}', 'header.<name>'],
    ['an invalid header name', '{header.a b}', 'write ip, method'],
    ['a header with a comma', '{header.a,b}', 'is not a source'],
    ['braces left open', 'user:{ip', 'at 5: this brace is not closed; write {{'],
    ['braces left open in quotes', "{ip | 'a}", 'not closed'],
    ['a brace too many', 'user:{ip}}', 'at 9: this brace has no opening brace; write }}'],
    ['empty braces', 'user:{}', 'write ip, method'],
    ['nothing after |', '{ip | }', 'write ip, method'],
    ['an empty text', "{ip | ''}", 'must not be empty'],
    ['a text before the end', "{'a' | ip}", "nothing after 'a' is ever used"],
    ['a text with double quotes', '{ip | "a"}', "or 'text'"],
    ['a hash in a hash', '{sha256(sha256(ip))}', 'write ip, method'],
    ['a hash of two', '{sha256(ip | path)}', 'write ip, method'],
    ['another function', '{md5(ip)}', 'write ip, method'],
    [
      'two sources side by side',
      '{ip}{path}',
      "between two sources that does not begin with % or =, for example ':'",
    ],
    ['two sources and a %', '{ip}%{path}', 'does not begin with %'],
    ['two sources and a =', '{ip}={path}', 'does not begin with % or ='],
    ['a control character', 'user:\n{ip}', 'at 5: this character cannot be in a key'],
    ['a lone surrogate', 'user:\ud800', 'cannot be in a key'],
    ['a source without braces', 'ip', 'the same key for every request; write "{ip}"'],
    ['an expression without braces', "header.x-user-id | 'a'", 'the same key for every request'],
  ])('%s', (_title, template, message) => {
    const make = () => parseTemplate(template as string)
    expect(make).toThrow(TidegateError)
    expect(make).toThrow(expect.objectContaining({ code: 'TEMPLATE_INVALID' }))
    expect(make).toThrow(message)
  })

  it('always with a TidegateError', () => {
    holds(
      hostileText(['{', '}', '{{', '|', "'", 'ip', 'header.', 'sha256(', ')', ':', 'query.x', ' ', '%', '=']),
      (text) => {
        try {
          parseTemplate(text).resolve(request())
        } catch (error) {
          expect(error).toBeInstanceOf(TidegateError)
        }
      },
    )
  })
})

describe('several different values of a part', () => {
  it.each<[string, string, string | undefined]>([
    ['{query.k}', 'k=1&k=2', 'query.k'],
    ['{query.k}', 'k=1&k=1', undefined],
    ['{query.k}', 'k=&k=1', undefined],
    ['{query.k}', 'k=1&%6B=2', 'query.k'],
    ['a:{ip | query.k}:{query.k}', 'k=1&k=2', 'query.k'],
    ['{ip | query.k}', 'k=1&k=2', undefined],
  ])('%s of ?%s: %s', (template, query, part) => {
    expect(parseTemplate(template).ambiguousPart(request({}, { query, ip: '192.0.2.1' }))).toBe(part)
  })

  it('are detected in cookies', () => {
    const { ambiguousPart } = parseTemplate('{cookie.a}')
    expect(ambiguousPart(request({ cookie: 'a=1; b=2; a=2' }))).toBe('cookie.a')
    expect(ambiguousPart(request({ cookie: 'a=1; b=2; a="1"; a=' }))).toBeUndefined()
  })

  it('share one key, so that a client cannot evade its limit', () => {
    const { resolve } = parseTemplate('key:{query.k}')
    const keys = ['k=1&k=REAL', 'k=2&k=REAL', 'k=REAL&k=3'].map((query) => resolve(request({}, { query })))
    expect(new Set(keys)).toStrictEqual(new Set(['key:(several values)']))
    expect(resolve(request({}, { query: 'k=REAL' }))).toBe('key:REAL')
  })
})
