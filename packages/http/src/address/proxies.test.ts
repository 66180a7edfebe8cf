import { TidegateError } from '@tidegate/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds, hostileText } from '../../test/properties.js'
import { formatAddress } from './address.js'
import {
  clientAddress,
  clientIp,
  defineProxies,
  isTrustedProxy,
  namedClient,
  type ProxiesOptions,
} from './proxies.js'

type Headers = Record<string, string>
const byXff = defineProxies({ trusted: ['10.0.0.0/8', '2001:db8:a::/48', '127.0.0.1'] })
const byForwarded = defineProxies({ trusted: ['10.0.0.0/8', '2001:db8:a::/48'], header: 'forwarded' })

const ip = (proxies: typeof byXff, peer: string | undefined, headers: Headers) =>
  clientIp(proxies, peer, (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined))

describe('X-Forwarded-For', () => {
  it.each<[string, string | undefined, Headers, string | undefined]>([
    ['no proxy is in between', '203.0.113.9', {}, '203.0.113.9'],
    ['a client forges it', '203.0.113.9', { 'x-forwarded-for': '1.1.1.1' }, '203.0.113.9'],
    [
      'a client forges all headers',
      '203.0.113.9',
      { 'x-forwarded-for': '10.0.0.1', 'x-real-ip': '1.1.1.1', forwarded: 'for=1.1.1.1' },
      '203.0.113.9',
    ],
    ['a proxy names the client', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
    [
      'a client forges the entries left of its own',
      '10.0.0.1',
      { 'x-forwarded-for': '1.1.1.1, 2.2.2.2, 203.0.113.9' },
      '203.0.113.9',
    ],
    ['two proxies', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, 203.0.113.9, 10.0.0.2' }, '203.0.113.9'],
    ['no spaces', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1,203.0.113.9,10.0.0.2' }, '203.0.113.9'],
    [
      'many spaces',
      '10.0.0.1',
      { 'x-forwarded-for': ' 1.1.1.1 ,\t203.0.113.9\t ,  10.0.0.2 ' },
      '203.0.113.9',
    ],
    [
      'all entries are proxies: the first one',
      '10.0.0.1',
      { 'x-forwarded-for': '10.0.0.4, 10.0.0.3, 10.0.0.2' },
      '10.0.0.4',
    ],
    ['ports', '10.0.0.1:5000', { 'x-forwarded-for': '203.0.113.9:4711, 10.0.0.2:80' }, '203.0.113.9'],
    ['a mapped peer', '::ffff:10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
    ['a mapped client', '10.0.0.1', { 'x-forwarded-for': '::ffff:203.0.113.9' }, '203.0.113.9'],
    [
      'a mapped proxy in the list',
      '10.0.0.1',
      { 'x-forwarded-for': '203.0.113.9, ::ffff:a00:2' },
      '203.0.113.9',
    ],
    [
      'IPv6, by its network',
      '2001:db8:a::1',
      { 'x-forwarded-for': '2001:db8:1:2:3:4:5:6' },
      '2001:db8:1:2::/64',
    ],
    ['IPv6 in brackets', '2001:db8:a::1', { 'x-forwarded-for': '[2001:db8:1:2::6]:80' }, '2001:db8:1:2::/64'],
    // an invalid address ends the search at the last known hop
    ['garbage', '10.0.0.1', { 'x-forwarded-for': 'garbage' }, '10.0.0.1'],
    ['unknown', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, unknown' }, '10.0.0.1'],
    ['garbage behind a proxy', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, garbage, 10.0.0.2' }, '10.0.0.2'],
    ['garbage left of the client', '10.0.0.1', { 'x-forwarded-for': 'garbage, 203.0.113.9' }, '203.0.113.9'],
    ['an empty list', '10.0.0.1', { 'x-forwarded-for': '' }, '10.0.0.1'],
    ['nothing but commas', '10.0.0.1', { 'x-forwarded-for': ',,,' }, '10.0.0.1'],
    ['an empty entry at the end', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, ' }, '10.0.0.1'],
    ['an empty entry behind a proxy', '10.0.0.1', { 'x-forwarded-for': '1.1.1.1,, 10.0.0.2' }, '10.0.0.2'],
    ['an empty entry in front', '10.0.0.1', { 'x-forwarded-for': ',10.0.0.2' }, '10.0.0.2'],
    ['a range', '10.0.0.1', { 'x-forwarded-for': '203.0.113.0/24' }, '10.0.0.1'],
    // X-Real-IP
    ['only X-Real-IP, from a proxy', '10.0.0.1', { 'x-real-ip': ' 203.0.113.9' }, '203.0.113.9'],
    ['only X-Real-IP, from an untrusted peer', '203.0.113.9', { 'x-real-ip': '1.1.1.1' }, '203.0.113.9'],
    [
      'X-Real-IP beside X-Forwarded-For',
      '10.0.0.1',
      { 'x-forwarded-for': '203.0.113.9', 'x-real-ip': '1.1.1.1' },
      '203.0.113.9',
    ],
    [
      'X-Real-IP beside an empty list',
      '10.0.0.1',
      { 'x-forwarded-for': '', 'x-real-ip': '1.1.1.1' },
      '10.0.0.1',
    ],
    [
      'X-Real-IP beside garbage',
      '10.0.0.1',
      { 'x-forwarded-for': 'garbage', 'x-real-ip': '1.1.1.1' },
      '10.0.0.1',
    ],
    ['an X-Real-IP that is not an address', '10.0.0.1', { 'x-real-ip': '1.1.1.1, 2.2.2.2' }, '10.0.0.1'],
    // only one of the two headers counts
    ['the other header', '10.0.0.1', { forwarded: 'for=1.1.1.1' }, '10.0.0.1'],
    // the peer
    ['no peer', undefined, { 'x-forwarded-for': '203.0.113.9' }, undefined],
    ['a peer that is not an address', '/run/app.sock', { 'x-forwarded-for': '203.0.113.9' }, undefined],
  ])('%s', (_title, peer, headers, client) => {
    expect(ip(byXff, peer, headers)).toBe(client)
  })

  it('is ignored if no proxy is trusted', () => {
    expect(ip(defineProxies(), '10.0.0.1', { 'x-forwarded-for': '1.1.1.1' })).toBe('10.0.0.1')
  })

  it('cuts IPv6 to the configured prefix', () => {
    const client = (ipv6Prefix: number) => ip(defineProxies({ ipv6Prefix }), '2001:db8:1:2:3:4:5:6', {})
    expect([client(48), client(64), client(128)]).toStrictEqual([
      '2001:db8:1::/48',
      '2001:db8:1:2::/64',
      '2001:db8:1:2:3:4:5:6',
    ])
  })
})

describe('Forwarded', () => {
  it.each<[string, string, string, string]>([
    ['the client', '10.0.0.1', 'for=203.0.113.9', '203.0.113.9'],
    ['from an untrusted peer', '203.0.113.9', 'for=1.1.1.1', '203.0.113.9'],
    ['a list', '10.0.0.1', 'for=1.1.1.1, for=203.0.113.9, for=10.0.0.2', '203.0.113.9'],
    ['no spaces', '10.0.0.1', 'for=1.1.1.1,for=203.0.113.9,for=10.0.0.2', '203.0.113.9'],
    ['any case', '10.0.0.1', 'FOR=203.0.113.9', '203.0.113.9'],
    ['quotes', '10.0.0.1', 'for="203.0.113.9:4711"', '203.0.113.9'],
    ['IPv6', '10.0.0.1', 'for="[2001:db8:1:2::17]"', '2001:db8:1:2::/64'],
    ['IPv6 with a port', '10.0.0.1', 'for="[2001:db8:1:2::17]:4711"', '2001:db8:1:2::/64'],
    ['IPv6 without quotes, as some write it', '10.0.0.1', 'for=[2001:db8:1:2::17]', '2001:db8:1:2::/64'],
    ['a hidden port', '10.0.0.1', 'for="203.0.113.9:_p80"', '203.0.113.9'],
    ['other pairs', '10.0.0.1', 'by=10.0.0.1;for=203.0.113.9;host=example.com;proto=https', '203.0.113.9'],
    ['spaces between pairs', '10.0.0.1', 'by=10.0.0.1 ; for=203.0.113.9 ;', '203.0.113.9'],
    [
      'an escaped quote in another pair',
      '10.0.0.1',
      'for=1.1.1.1, for=203.0.113.9;host="a\\"b, for=2.2.2.2"',
      '203.0.113.9',
    ],
    [
      'a backslash before the closing quote',
      '10.0.0.1',
      'for=1.1.1.1, for=203.0.113.9;host="a\\\\"',
      '203.0.113.9',
    ],
    ['an escaped letter', '10.0.0.1', 'for="203.0.113.\\9"', '203.0.113.9'],
    ['all are proxies', '10.0.0.1', 'for=10.0.0.4, for=10.0.0.3', '10.0.0.4'],
    // a client cannot hide the entries of the proxies after its own
    ['an open quote', '10.0.0.1', 'for="evil, for=203.0.113.9', '203.0.113.9'],
    ['a closing quote', '10.0.0.1', 'for=evil", for=203.0.113.9', '203.0.113.9'],
    [
      'an open quote and quotes of the proxy',
      '10.0.0.1',
      'for="evil, for="[2001:db8:1:2::17]:1"',
      '2001:db8:1:2::/64',
    ],
    ['an open quote behind a proxy', '10.0.0.1', 'for=", for=203.0.113.9, for="10.0.0.2:80"', '203.0.113.9'],
    ['a backslash', '10.0.0.1', 'for="evil\\, for="203.0.113.9"', '203.0.113.9'],
    // an invalid address ends the search at the last known hop
    ['unknown', '10.0.0.1', 'for=1.1.1.1, for=unknown', '10.0.0.1'],
    ['hidden', '10.0.0.1', 'for=1.1.1.1, for=_hidden, for=10.0.0.2', '10.0.0.2'],
    ['hidden, in quotes', '10.0.0.1', 'for=1.1.1.1, for="_SEVKISEK"', '10.0.0.1'],
    ['no for', '10.0.0.1', 'for=1.1.1.1, proto=https', '10.0.0.1'],
    ['two of them', '10.0.0.1', 'for=203.0.113.9;for=1.1.1.1', '10.0.0.1'],
    ['an empty element', '10.0.0.1', 'for=1.1.1.1, , for=10.0.0.2', '10.0.0.2'],
    ['an empty list', '10.0.0.1', '', '10.0.0.1'],
    ['an empty value', '10.0.0.1', 'for=', '10.0.0.1'],
    ['no pair', '10.0.0.1', '203.0.113.9', '10.0.0.1'],
    ['a space at the equals sign', '10.0.0.1', 'for= 203.0.113.9', '10.0.0.1'],
    ['text after the quotes', '10.0.0.1', 'for="203.0.113.9"x', '10.0.0.1'],
    ['quotes that are never closed', '10.0.0.1', 'for="203.0.113.9', '10.0.0.1'],
    ['an element far too long', '10.0.0.1', `for=203.0.113.9;host=${'x'.repeat(10_000)}`, '10.0.0.1'],
  ])('%s', (_title, peer, forwarded, client) => {
    expect(ip(byForwarded, peer, { forwarded })).toBe(client)
  })

  it('if absent, the client is the peer, regardless of X-Forwarded-For and X-Real-IP', () => {
    expect(ip(byForwarded, '10.0.0.1', { 'x-forwarded-for': '1.1.1.1', 'x-real-ip': '1.1.1.1' })).toBe(
      '10.0.0.1',
    )
  })
})

describe('a long list', () => {
  const many = 300_000
  // In quadratic time, each of these would take minutes.
  it.each<[string, typeof byXff, Headers, string]>([
    ['of proxies', byXff, { 'x-forwarded-for': '10.0.0.2,'.repeat(many).slice(0, -1) }, '10.0.0.2'],
    [
      'of forged entries',
      byXff,
      { 'x-forwarded-for': `${'10.0.0.2,'.repeat(many)}203.0.113.9` },
      '203.0.113.9',
    ],
    ['of commas', byXff, { 'x-forwarded-for': ','.repeat(many) }, '10.0.0.1'],
    ['of one entry', byXff, { 'x-forwarded-for': '1'.repeat(many) }, '10.0.0.1'],
    [
      'of proxies in Forwarded',
      byForwarded,
      { forwarded: 'for="10.0.0.2",'.repeat(many).slice(0, -1) },
      '10.0.0.2',
    ],
    ['of quotes', byForwarded, { forwarded: '"'.repeat(many) }, '10.0.0.1'],
    ['of backslashes', byForwarded, { forwarded: `"${'\\'.repeat(many)}"`.repeat(3) }, '10.0.0.1'],
    ['of escaped quotes', byForwarded, { forwarded: `${'\\"'.repeat(many)}"` }, '10.0.0.1'],
    ['of spaces', byForwarded, { forwarded: ' '.repeat(many) }, '10.0.0.1'],
    [
      'of open quotes and then the proxy',
      byForwarded,
      { forwarded: `${'for=",'.repeat(many)}for=203.0.113.9` },
      '203.0.113.9',
    ],
  ])(
    '%s is read in linear time',
    (_title, proxies, headers, client) => {
      expect(ip(proxies, '10.0.0.1', headers)).toBe(client)
    },
    10_000,
  )
})

describe('with any headers', () => {
  const pieces = [
    '10.0.0.2',
    '1.1.1.1',
    ',',
    ', ',
    ';',
    '"',
    '\\',
    'for=',
    'for="',
    '[::1]:80',
    'unknown',
    '_x',
    '=',
    'by=1',
  ]

  it('the client is the peer if the peer is not trusted', () => {
    holds(hostileText(pieces), (text) => {
      const headers = { 'x-forwarded-for': text, 'x-real-ip': text, forwarded: text }
      expect(ip(byXff, '203.0.113.9', headers)).toBe('203.0.113.9')
      expect(ip(byForwarded, '203.0.113.9', headers)).toBe('203.0.113.9')
    })
  })

  it('the client is the address that the proxies wrote, and cannot be forged', () => {
    const hops = fc.array(fc.constantFrom('10.1.2.3', '10.0.0.7'), { maxLength: 3 })
    holds(fc.tuple(hostileText(pieces), hops), ([text, proxies]) => {
      const chain = ['203.0.113.9', ...proxies]
      expect(ip(byXff, '10.0.0.1', { 'x-forwarded-for': [text, ...chain].join(', ') })).toBe('203.0.113.9')
      const elements = chain.map((hop, i) => (i % 2 === 0 ? `for=${hop}` : `proto=http;for="${hop}:80"`))
      expect(ip(byForwarded, '10.0.0.1', { forwarded: [text, ...elements].join(', ') })).toBe('203.0.113.9')
    })
  })

  it('there is a client if there is a peer, in the canonical form of an address', () => {
    holds(fc.tuple(hostileText(pieces), hostileText(pieces)), ([text, peer]) => {
      const header = () => text
      for (const proxies of [byXff, byForwarded]) {
        const address = clientAddress(proxies, '10.0.0.1', header)!
        expect(clientIp(proxies, '10.0.0.1', header)).toBe(formatAddress(address, 64))
        clientIp(proxies, peer, header)
      }
    })
  })
})

describe('hops', () => {
  const [one, two] = [defineProxies({ hops: 1 }), defineProxies({ hops: 2 })]
  const xff = (text: string) => ({ 'x-forwarded-for': text })

  it('the client is the entry that the outermost proxy wrote', () => {
    expect(ip(one, '10.0.0.1', xff('1.1.1.1, 203.0.113.9'))).toBe('203.0.113.9')
    expect(ip(two, '10.0.0.1', xff('1.1.1.1, 203.0.113.9, 10.0.0.2'))).toBe('203.0.113.9')
  })

  it('entries that the client sent do not change its address', () => {
    const forged = ['', '198.51.100.1, ', '198.51.100.1, 198.51.100.2, ', 'junk, ', ', , ']
    for (const text of forged) {
      expect(ip(one, '10.0.0.1', xff(`${text}203.0.113.9`))).toBe('203.0.113.9')
      expect(ip(two, '10.0.0.1', xff(`${text}203.0.113.9, 10.0.0.2`))).toBe('203.0.113.9')
    }
  })

  it('the peer counts if the chain is too short or an entry is not an address', () => {
    for (const headers of [{}, xff(''), xff('junk'), { 'x-real-ip': '198.51.100.1' }]) {
      expect(ip(one, '10.0.0.1', headers)).toBe('10.0.0.1')
    }
    for (const text of ['203.0.113.9', '203.0.113.9, junk', 'junk, 203.0.113.9']) {
      expect(ip(two, '10.0.0.1', xff(text))).toBe('10.0.0.1')
    }
  })

  it('the header has the client if the peer is unknown', () => {
    expect(clientIp(one, undefined, () => '203.0.113.9')).toBe('203.0.113.9')
    expect(clientIp(one, undefined, () => undefined)).toBeUndefined()
  })

  it('they work with Forwarded too', () => {
    const forwarded = defineProxies({ hops: 1, header: 'forwarded' })
    expect(ip(forwarded, '10.0.0.1', { forwarded: 'for=1.1.1.1, for=203.0.113.9' })).toBe('203.0.113.9')
  })
})

describe('namedClient()', () => {
  it.each<[string, typeof byXff, string | undefined, Headers, string | undefined]>([
    ['by a trusted proxy', byXff, '10.0.0.1', { 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
    ['through two proxies', byXff, '10.0.0.1', { 'x-forwarded-for': '203.0.113.9, 10.0.0.2' }, '203.0.113.9'],
    ['that is itself trusted', byXff, '10.0.0.1', { 'x-forwarded-for': '10.0.0.3' }, '10.0.0.3'],
    ['in X-Real-IP', byXff, '10.0.0.1', { 'x-real-ip': '203.0.113.9' }, '203.0.113.9'],
    ['in Forwarded', byForwarded, '10.0.0.1', { forwarded: 'for=203.0.113.9' }, '203.0.113.9'],
    ['is unknown without a header', byXff, '10.0.0.1', {}, undefined],
    ['is unknown with an empty header', byXff, '10.0.0.1', { 'x-forwarded-for': '' }, undefined],
    ['is unknown after a malformed entry', byXff, '10.0.0.1', { 'x-forwarded-for': '1.1.1.1, x' }, undefined],
    ['is unknown in a malformed X-Real-IP', byXff, '10.0.0.1', { 'x-real-ip': 'x' }, undefined],
    ['is unknown if obfuscated', byForwarded, '10.0.0.1', { forwarded: 'for=_hidden' }, undefined],
    ['is unknown in the other header', byForwarded, '10.0.0.1', { 'x-real-ip': '1.1.1.1' }, undefined],
    ['is unknown by another peer', byXff, '203.0.113.9', { 'x-forwarded-for': '1.1.1.1' }, undefined],
    ['is unknown without a peer', byXff, undefined, { 'x-forwarded-for': '1.1.1.1' }, undefined],
  ])('%s', (_title, proxies, peer, headers, client) => {
    const found = namedClient(proxies, peer, (name) => headers[name])
    expect(found === undefined ? undefined : formatAddress(found)).toBe(client)
  })

  it('counts only if the peer is trusted', () => {
    expect(isTrustedProxy(byXff, '::ffff:10.0.0.1')).toBe(true)
    for (const peer of ['11.0.0.1', 'junk', undefined]) expect(isTrustedProxy(byXff, peer)).toBe(false)
  })
})

describe('rejects invalid proxies', () => {
  it.each<[string, unknown, string, string]>([
    ['an entry that is not a range', { trusted: ['10.0.0.0/8', '10.0.0.0/33'] }, 'trusted', '"10.0.0.0/33"'],
    ['a name', { trusted: ['localhost'] }, 'trusted', "Write for example '10.0.0.0/8'"],
    ['a number', { trusted: [10] }, 'trusted', 'must contain only addresses and ranges, got 10'],
    ['one text', { trusted: '10.0.0.0/8' }, 'trusted', "['10.0.0.0/8']"],
    ['another header', { header: 'x-client-ip' }, 'header', "'x-forwarded-for' or 'forwarded'"],
    ['a prefix of 0', { ipv6Prefix: 0 }, 'ipv6Prefix', '1 to 128'],
    ['a prefix of 129', { ipv6Prefix: 129 }, 'ipv6Prefix', 'got 129'],
    ['a prefix as text', { ipv6Prefix: '64' }, 'ipv6Prefix', 'got "64"'],
    ['a negative number of hops', { hops: -1 }, 'hops', 'for example hops: 1'],
    ['half a hop', { hops: 0.5 }, 'hops', 'got 0.5'],
    ['more hops than any chain has', { hops: 33 }, 'hops', 'from 0 to 32'],
    ['hops and addresses', { hops: 1, trusted: ['10.0.0.0/8'] }, 'hops', 'cannot be combined'],
    ['a misspelt option', { trustedProxies: [] }, 'trustedProxies', 'trusted, hops, header, ipv6Prefix'],
  ])('%s', (_title, options, field, message) => {
    const make = () => defineProxies(options as ProxiesOptions)
    expect(make).toThrow(TidegateError)
    expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', field }))
    expect(make).toThrow(message)
  })
})
