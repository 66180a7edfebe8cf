import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holds, hostileText } from '../../test/properties.js'
import { contains, formatAddress, parseAddress, parseCidr } from './address.js'

const key = (text: string, ipv6Prefix?: number) => {
  const address = parseAddress(text)
  return address === undefined ? undefined : formatAddress(address, ipv6Prefix)
}

describe('an address', () => {
  it.each([
    // IPv4
    ['192.0.2.1', '192.0.2.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['192.0.2.1:80', '192.0.2.1'],
    ['192.0.2.1:65535', '192.0.2.1'],
    // IPv6, as RFC 5952 writes it
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['0:0:1:2:3:4:5:6', '::1:2:3:4:5:6'],
    ['1:2:3:4:5:6:0:0', '1:2:3:4:5:6::'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25eth0]:80', 'fe80::1'],
    // an IPv4-mapped address is its IPv4 address
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:c000:0201', '192.0.2.1'],
    ['0000:0000:0000:0000:0000:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
    ['::ffff:192.0.2.1%eth0', '192.0.2.1'],
    // other IPv6 addresses that contain an IPv4 address are separate addresses
    ['::192.0.2.1', '::c000:201'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
    ['::ffff:0:192.0.2.1', '::ffff:0:c000:201'],
    ['::1:ffff:c000:201', '::1:ffff:c000:201'],
  ])('%s is %s', (text, canonical) => {
    expect(key(text)).toBe(canonical)
    expect(key(canonical)).toBe(canonical)
  })

  it.each([
    ['nothing', ''],
    ['a space', ' 192.0.2.1'],
    ['three numbers', '192.0.2'],
    ['five numbers', '192.0.2.1.1'],
    ['a number above 255', '192.0.2.256'],
    ['a leading zero', '192.0.02.1'],
    ['octal', '0300.0.2.1'],
    ['hexadecimal', '0xc0.0.2.1'],
    ['one number', '3221225985'],
    ['an empty number', '192..2.1'],
    ['a dot at the end', '192.0.2.1.'],
    ['a negative number', '192.0.2.-1'],
    ['an empty port', '192.0.2.1:'],
    ['a port too large', '192.0.2.1:65536'],
    ['a port in words', '192.0.2.1:http'],
    ['IPv4 in brackets', '[192.0.2.1]'],
    ['IPv4 with a zone', '192.0.2.1%eth0'],
    ['a range', '192.0.2.0/24'],
    ['seven groups', '1:2:3:4:5:6:7'],
    ['nine groups', '1:2:3:4:5:6:7:8:9'],
    ['eight groups and ::', '1:2:3:4::5:6:7:8'],
    ['two ::', '1::2::3'],
    [':::', '1:::2'],
    ['a colon in front', ':1:2:3:4:5:6:7'],
    ['a colon at the end', '1:2:3:4:5:6:7:'],
    ['five digits', '::00001'],
    ['no digit', '::g'],
    ['IPv4 in the middle', '::192.0.2.1:1'],
    ['IPv4 too late', '1:2:3:4:5:6:7:192.0.2.1'],
    ['IPv4 wrong', '::ffff:192.0.2'],
    ['IPv4 with a leading zero', '::ffff:192.0.2.01'],
    ['an empty zone', 'fe80::1%'],
    ['an odd zone', 'fe80::1%a b'],
    ['an open bracket', '[::1'],
    ['a bracket too many', '::1]'],
    ['text after the bracket', '[::1]x'],
    ['empty brackets', '[]'],
    ['a name', 'localhost'],
    ['unknown', 'unknown'],
    ['digits outside of ASCII', '１92.0.2.1'],
    ['far too much', `::1%${'x'.repeat(200)}`],
  ])('is not %s', (_what, text) => {
    expect(parseAddress(text)).toBeUndefined()
  })

  it('is cut to its network if it is IPv6, and whole if it is IPv4', () => {
    const rows = [
      ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::/64'],
      ['2001:db8:1:2:3:4:5:6', 128, '2001:db8:1:2:3:4:5:6'],
      ['2001:db8:1:2:3:4:5:6', 48, '2001:db8:1::/48'],
      ['2001:db8:1:ffff::', 56, '2001:db8:1:ff00::/56'],
      ['2001:db8:1:2:ffff::', 65, '2001:db8:1:2:8000::/65'],
      ['2001:db8:1:2:3:4:5:7', 127, '2001:db8:1:2:3:4:5:6/127'],
      ['ffff::', 1, '8000::/1'],
      ['192.0.2.1', 64, '192.0.2.1'],
      ['::ffff:192.0.2.1', 64, '192.0.2.1'],
    ] as const
    for (const [text, prefix, network] of rows) expect(key(text, prefix)).toBe(network)
  })

  it('keeps the whole address in shared networks: all of IPv4 must not be one client', () => {
    const rows = [
      ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
      ['64:ff9b::192.0.2.2', '64:ff9b::c000:202'],
      ['64:ff9b:1::1', '64:ff9b:1::1'],
      ['64:ff9b:2::1', '64:ff9b:2::/64'],
      ['2001:0:1:2:3:4:5:6', '2001:0:1:2:3:4:5:6'],
      ['2001:1::1', '2001:1::/64'],
      ['fe80::1%eth0', 'fe80::1'],
      ['febf::1', 'febf::1'],
      ['fec0::1', 'fec0::/64'],
      ['64:ff9b:0:0:1::1', '64:ff9b::/64'],
      ['64:ff9b::1:0:1', '64:ff9b::/64'],
      ['::192.0.2.1', '::c000:201'],
      ['::ffff:0:192.0.2.1', '::ffff:0:c000:201'],
      ['::1', '::1'],
      ['0:0:0:1::1', '0:0:0:1::/64'],
    ] as const
    for (const [text, written] of rows) expect(key(text, 64)).toBe(written)
  })
})

/** IPv6 as eight groups, with many zeros, and now and then a mapped IPv4. */
const group = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 0xffff }))
const anyGroups = fc.array(group, { minLength: 8, maxLength: 8 })
const mappedGroups = fc.tuple(group, group).map((last) => [0, 0, 0, 0, 0, 0xffff, ...last])
const someGroups = fc.oneof(anyGroups, mappedGroups)

const quad = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join('.')
const isMapped = (groups: number[]) => groups.slice(0, 6).join() === '0,0,0,0,0,65535'

/** The address in the notation of Node's own URL parser. */
function canonicalOf(groups: number[]): string {
  if (isMapped(groups)) return quad(groups[6]!, groups[7]!)
  const fullText = groups.map((value) => value.toString(16)).join(':')
  return new URL(`http://[${fullText}]/`).hostname.slice(1, -1)
}

/** Any way to write the groups. */
const anySpelling = someGroups.chain((groups) => {
  const starts = groups.flatMap((value, i) => (value === 0 ? [i] : []))
  return fc
    .record({
      digits: fc.array(fc.record({ zeros: fc.nat(3), upper: fc.boolean() }), { minLength: 8, maxLength: 8 }),
      hasQuad: fc.boolean(),
      gapStart: starts.length === 0 ? fc.constant(-1) : fc.constantFrom(-1, ...starts),
      gapLength: fc.integer({ min: 1, max: 8 }),
      isBareIpv4: fc.boolean(),
      zone: fc.constantFrom('', '', '%eth0', '%25en1', '%1'),
      around: fc.constantFrom('', '[]', '[]:1', '[]:65535'),
      port: fc.constantFrom('', ':80'),
    })
    .map((how) => {
      if (isMapped(groups) && how.isBareIpv4) return { groups, text: quad(groups[6]!, groups[7]!) + how.port }
      const written = groups.map((value, i) => {
        const { zeros, upper } = how.digits[i]!
        const text = value.toString(16)
        const padded = text.padStart(Math.min(4, text.length + zeros), '0')
        return upper ? padded.toUpperCase() : padded
      })
      let last = 8
      if (how.hasQuad) {
        written.splice(6, 2, quad(groups[6]!, groups[7]!))
        last = 6
      }
      let text = written.join(':')
      if (how.gapStart >= 0 && how.gapStart < last) {
        let end = how.gapStart
        while (end < last && groups[end] === 0 && end - how.gapStart < how.gapLength) end++
        text = `${written.slice(0, how.gapStart).join(':')}::${written.slice(end).join(':')}`
      }
      text += how.zone
      return { groups, text: how.around === '' ? text : `[${text}]${how.around.slice(2)}` }
    })
})

describe('every spelling of an address', () => {
  it('has one key', () => {
    holds(
      anySpelling,
      ({ groups, text }) => {
        expect([text, key(text)]).toStrictEqual([text, canonicalOf(groups)])
      },
      5000,
    )
  })

  it('has another key than other addresses, and another network than other networks', () => {
    holds(fc.tuple(anySpelling, anySpelling), ([a, b]) => {
      expect(key(a.text) === key(b.text)).toBe(a.groups.join() === b.groups.join())
      const network = (groups: number[]) =>
        groups.slice(0, 4).join() === '0,0,0,0' ? groups : groups.slice(0, 4)
      const isSameNetwork = network(a.groups).join() === network(b.groups).join()
      expect(key(a.text, 64) === key(b.text, 64)).toBe(isSameNetwork)
    })
  })

  it('is accepted if and only if Node accepts it', () => {
    const edit = fc.record({
      at: fc.nat(45),
      remove: fc.nat(2),
      add: fc.constantFrom('', '0', ':', '::', '.', 'f', '1.2', 'g'),
    })
    const nearlyRight = fc
      .tuple(anySpelling, fc.array(edit, { minLength: 1, maxLength: 2 }))
      .map(([{ text }, edits]) => {
        const characters = [...text.replace(/[[\]]/g, '').replace(/%.*/, '')]
        for (const { at, remove, add } of edits) characters.splice(at, remove, add)
        return characters.join('')
      })
    let right = 0
    holds(
      nearlyRight,
      (text) => {
        // Node's addresses have no ports.
        if (/^[^:]*:[^:]*$/.test(text)) return
        if (isIP(text) > 0) right++
        expect([text, parseAddress(text) !== undefined]).toStrictEqual([text, isIP(text) > 0])
      },
      5000,
    )
    expect(right).toBeGreaterThan(500)
  })

  it('is parsed without an error, valid or not', () => {
    holds(hostileText(['1.2.3.4', ':', '::', '[', ']', '%', '.', '/', 'ffff', '255', '::ffff:']), (text) => {
      const address = parseAddress(text)
      if (address !== undefined) expect(key(formatAddress(address))).toBe(formatAddress(address))
      parseCidr(text)
    })
  })
})

describe('a range', () => {
  it.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.1.2.3/8', '10.200.0.1', true], // the bits after the prefix are ignored
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['192.0.2.1/32', '192.0.2.1', true],
    ['192.0.2.0/31', '192.0.2.1', true],
    ['192.0.2.0/31', '192.0.2.2', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '192.0.2.1', false], // IPv4 is not IPv6, in any spelling
    ['::/0', '::ffff:192.0.2.1', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['::ffff:10.0.0.0/104', '10.0.0.1', true],
    ['::ffff:10.0.0.0/104', '11.0.0.1', false],
    ['::ffff:0:0/96', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['::1', '::1', true],
    ['::1', '::2', false],
  ])('%s has %s in it: %s', (range, text, isIn) => {
    expect(contains(parseCidr(range)!, parseAddress(text)!)).toBe(isIn)
  })

  it.each([
    '',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/8.0',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '10/8',
    '10.0.0.0:80',
    '10.0.0.0:80/8',
    '[::1]',
    '[::1]/128',
    'fe80::1%eth0',
    'fe80::%eth0/10',
    '::/129',
    '::ffff:10.0.0.0/95',
    'loopback',
    ' 10.0.0.0/8',
    '1'.repeat(200),
  ])('is not %s', (text) => {
    expect(parseCidr(text)).toBeUndefined()
  })

  it('contains exactly the addresses with the same first bits', () => {
    const bitsOf = (groups: number[]) => groups.map((value) => value.toString(2).padStart(16, '0')).join('')
    const written = (groups: number[]) => groups.map((value) => value.toString(16)).join(':')
    let inside = 0
    const pair = fc.tuple(
      someGroups,
      fc.integer({ min: 0, max: 128 }),
      someGroups,
      fc.integer({ min: 0, max: 128 }),
    )
    holds(
      pair,
      ([range, prefix, other, shared]) => {
        // Two random addresses share no bits: let them share some.
        const bits = bitsOf(range).slice(0, shared) + bitsOf(other).slice(shared)
        const address = (bits.match(/.{16}/g) ?? []).map((part) => Number.parseInt(part, 2))
        const cidr = parseCidr(`${written(range)}/${prefix}`)
        if (isMapped(range) && prefix < 96) return expect(cidr).toBeUndefined()
        const isSameFamily = isMapped(range) === isMapped(address)
        const isIn = isSameFamily && bits.startsWith(bitsOf(range).slice(0, prefix))
        if (isIn) inside++
        expect(contains(cidr!, parseAddress(written(address))!)).toBe(isIn)
      },
      3000,
    )
    expect(inside).toBeGreaterThan(300)
  })
})
