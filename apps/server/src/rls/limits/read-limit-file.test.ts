import { describe, expect, it } from 'vitest'
import { formatFileErrors } from '../format-file-errors.js'
import { loadLimits } from './load-limits.js'
import { matchRule } from './match.js'

const OPTIONS = { mergeDomains: false, onStoreFailure: 'open', instances: 1 } as const

function errorsOf(...texts: string[]): string {
  const files = texts.map((text, i) => ({ file: `${i + 1}.yaml`, text }))
  const loaded = loadLimits(files, OPTIONS)
  return 'errors' in loaded ? formatFileErrors(loaded.errors) : ''
}

/** A file with one rule. */
const rule = (fields: string, descriptor = '') =>
  `domain: shop\ndescriptors:\n  - key: user\n${descriptor}    rate_limit:\n${fields
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n')}\n`

describe('errors of a limit file', () => {
  it.each<[string, string, string]>([
    ['a quote without an end', `'''\n`, '1.yaml:1:1  this quote is not closed'],
    [
      'text instead of keys',
      'hello',
      '1.yaml:1:1  the file must have the keys domain and descriptors; write for example domain: shop',
    ],
    [
      'an empty file',
      '',
      '1.yaml:1:1  domain: must not be empty; write the domain of Envoy’s filter, such as domain: shop',
    ],
    [
      'no domain',
      'descriptors:',
      '1.yaml:1:1  domain: must not be empty; write the domain of Envoy’s filter, such as domain: shop',
    ],
    [
      'a key that is not text',
      '0.25: x\ndomain: shop',
      '1.yaml:1:1  ["0.25"]: unknown option; write one of domain, descriptors, atomic',
    ],
    [
      'a domain that is a float',
      'domain: 1.5',
      '1.yaml:1:9  domain: must be text, got "1.5"; write it in quotes',
    ],
    [
      'a second document',
      'domain: a\n---\ndomain: b',
      '1.yaml:2:1  only one document is allowed; remove this ---',
    ],
    [
      'descriptors that are not a list',
      'domain: a\ndescriptors: { key: b }',
      '1.yaml:2:14  descriptors: must be a list of descriptors; write for example - key: user',
    ],
    [
      'a list of texts',
      'domain: a\ndescriptors: [b]',
      '1.yaml:2:15  descriptors[0]: must be a descriptor, got "b"; write for example key: user',
    ],
    [
      'no key',
      'domain: a\ndescriptors:\n  - value: b',
      '1.yaml:3:5  descriptors[0].key: is missing; write for example key: user',
    ],
    [
      'an empty key',
      'domain: a\ndescriptors:\n  - key: ""',
      '1.yaml:3:10  descriptors[0].key: is missing; write for example key: user',
    ],
    [
      'a descriptor twice',
      'domain: a\ndescriptors:\n  - { key: b, value: c }\n  - { key: b, value: c }',
      '1.yaml:4:5  descriptors[1]: duplicate descriptor "a.b_c"; keep one',
    ],
    [
      'a nested descriptor twice',
      'domain: a\ndescriptors:\n  - key: b\n    descriptors:\n      - key: c\n      - key: c',
      '1.yaml:6:9  descriptors[0].descriptors[1]: duplicate descriptor "a.b.c"; keep one',
    ],
    [
      'a misspelled key',
      'domain: a\ndescriptors:\n  - key: b\n    ratelimit: { unit: day }',
      '1.yaml:4:5  descriptors[0].ratelimit: unknown option; did you mean "rate_limit"?',
    ],
    [
      'a key in the wrong place',
      'domain: a\ndescriptors:\n  - key: b\n    unit: day',
      '1.yaml:4:5  descriptors[0].unit: belongs to rate_limit; move it there',
    ],
    [
      'a misspelled key of the rate limit',
      rule('unit: day\nrequestsperunit: 5'),
      '1.yaml:6:7  descriptors[0].rate_limit.requestsperunit: unknown option; did you mean "requests_per_unit"?',
    ],
    [
      'shadow mode in the rate limit',
      rule('unit: day\nshadow_mode: true'),
      '1.yaml:6:7  descriptors[0].rate_limit.shadow_mode: belongs to a descriptor; move it there',
    ],
    [
      'an unknown unit',
      rule('unit: foo'),
      '1.yaml:5:13  descriptors[0].rate_limit.unit: unknown unit "foo"; write one of second, minute, hour, day, week, month, year, or a window such as window: 10m',
    ],
    [
      'a property of every object as unit',
      rule('unit: constructor'),
      '1.yaml:5:13  descriptors[0].rate_limit.unit: unknown unit "constructor"; write one of second, minute, hour, day, week, month, year, or a window such as window: 10m',
    ],
    [
      'the unit UNKNOWN',
      rule('unit: unknown'),
      '1.yaml:5:13  descriptors[0].rate_limit.unit: unknown unit "unknown"; write one of second, minute, hour, day, week, month, year, or a window such as window: 10m',
    ],
    [
      'no unit',
      rule('requests_per_unit: 5'),
      '1.yaml:4:5  descriptors[0].rate_limit.unit: is missing; write one of second, minute, hour, day, week, month, year, or a window such as window: 10m',
    ],
    [
      'unlimited with a unit',
      rule('unlimited: true\nunit: day'),
      '1.yaml:6:13  descriptors[0].rate_limit.unit: must not be used together with unlimited; remove one of them',
    ],
    [
      'a negative limit',
      rule('unit: day\nrequests_per_unit: -1'),
      '1.yaml:6:26  descriptors[0].rate_limit.requests_per_unit: must be a whole number from 0 to 4,294,967,295, got -1',
    ],
    [
      'a limit above 32 bits',
      rule('unit: day\nrequests_per_unit: 4294967296'),
      '1.yaml:6:26  descriptors[0].rate_limit.requests_per_unit: must be a whole number from 0 to 4,294,967,295, got 4294967296',
    ],
    [
      'a limit that is a float',
      rule('unit: day\nrequests_per_unit: 1.5'),
      '1.yaml:6:26  descriptors[0].rate_limit.requests_per_unit: must be a whole number from 0 to 4,294,967,295, got "1.5"',
    ],
    [
      'a limit in quotes',
      rule('unit: day\nrequests_per_unit: "5"'),
      '1.yaml:6:26  descriptors[0].rate_limit.requests_per_unit: must be a whole number, got "5"; write it without quotes',
    ],
    [
      'a rate limit that is text',
      'domain: a\ndescriptors:\n  - key: b\n    rate_limit: fast',
      '1.yaml:4:17  descriptors[0].rate_limit: must have unit and requests_per_unit; write for example unit: minute',
    ],
    [
      'a flag in quotes',
      rule('unit: day', '    shadow_mode: "true"\n'),
      '1.yaml:4:18  descriptors[0].shadow_mode: must be true or false, got "true"; write it without quotes',
    ],
    [
      'a flag that is a number',
      rule('unit: day', '    quota_mode: 1\n'),
      '1.yaml:4:17  descriptors[0].quota_mode: must be true or false, got "1"',
    ],
    [
      'an empty replaces entry',
      rule('unit: day\nreplaces: [{ name: }]'),
      '1.yaml:6:26  descriptors[0].rate_limit.replaces[0].name: must not be empty; write the name of the rate limit to replace',
    ],
    [
      'a rate limit that replaces itself',
      rule('unit: day\nname: a\nreplaces: [{ name: a }]'),
      '1.yaml:7:26  descriptors[0].rate_limit.replaces[0].name: must be the name of another rate limit, got "a"',
    ],
    [
      'share_threshold without a wildcard',
      'domain: a\ndescriptors:\n  - { key: b, value: c, share_threshold: true }',
      '1.yaml:3:42  descriptors[0].share_threshold: needs a value with a wildcard, got "b_c"; write for example value: files/*',
    ],
    [
      'metadata that is a list',
      rule('unit: day', '    metadata: [a]\n'),
      '1.yaml:4:15  descriptors[0].metadata: must be keys and values; write for example name: value',
    ],
    [
      'an unknown algorithm',
      rule('unit: day\nalgorithm: sliding'),
      '1.yaml:6:18  descriptors[0].rate_limit.algorithm: "sliding" is not an algorithm; did you mean "sliding-window-counter" or "sliding-window-log"?',
    ],
    [
      'a leaky bucket',
      rule('unit: day\nalgorithm: leaky-bucket'),
      '1.yaml:6:18  descriptors[0].rate_limit.algorithm: "leaky-bucket" is not supported, because Envoy cannot delay requests; write one of fixed-window, sliding-window-counter, sliding-window-log, token-bucket',
    ],
    [
      'unit and window',
      rule('unit: day\nwindow: 10m'),
      '1.yaml:6:15  descriptors[0].rate_limit.window: must not be used together with unit; remove one of them',
    ],
    [
      'a limit that its algorithm cannot count',
      rule('unit: day\nrequests_per_unit: 1000000\nalgorithm: sliding-window-log'),
      '1.yaml:6:26  descriptors[0].rate_limit.requests_per_unit: ',
    ],
    [
      'a window that is too long',
      rule('window: 400d\nrequests_per_unit: 1'),
      '1.yaml:5:15  descriptors[0].rate_limit.window: ',
    ],
  ])('%s', (_, text, message) => {
    expect(errorsOf(text)).toContain(message)
  })

  it('lists every error of every file', () => {
    const text = 'domain: a\ndescriptors:\n  - key: b\n    foo: 1\n  - kay: c'
    expect(
      errorsOf(text, "'")
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toStrictEqual(['1.yaml:4:5', '1.yaml:5:5', '1.yaml:5:5', '2.yaml:1:1'])
  })

  it('rejects a duplicate domain, unless domains are merged', () => {
    const files = ['key: x', 'key: y'].map((key, i) => ({
      file: `${i}.yaml`,
      text: `domain: a\ndescriptors:\n  - ${key}`,
    }))
    const rejected = loadLimits(files, OPTIONS)
    expect('errors' in rejected && formatFileErrors(rejected.errors)).toBe(
      '1.yaml:1:1  domain: duplicate domain "a", also in 0.yaml; use another domain, or set rls.mergeDomains: true',
    )
    const same = loadLimits([files[0]!, { ...files[0]!, file: '1.yaml' }], OPTIONS)
    expect('errors' in same && formatFileErrors(same.errors)).not.toContain('duplicate descriptor')
    const merged = loadLimits(files, { ...OPTIONS, mergeDomains: true })
    expect('limits' in merged && [...merged.limits.domains.get('a')!.children.keys()]).toStrictEqual([
      'x',
      'y',
    ])
    const twice = loadLimits([files[0]!, files[0]!], { ...OPTIONS, mergeDomains: true })
    expect('errors' in twice && formatFileErrors(twice.errors)).toContain('duplicate descriptor "a.x"')
  })
})

describe('limit files that the reference accepts', () => {
  const limitOf = (text: string, value = 'x') => {
    const loaded = loadLimits([{ file: 'a.yaml', text }], OPTIONS)
    if ('errors' in loaded) throw new Error(formatFileErrors(loaded.errors))
    return matchRule(loaded.limits.domains.get('shop')!, 'shop', [{ key: 'user', value }])?.rule
  }

  it.each([
    ['10', 10],
    ['1_000', 1000],
    ['0x1F', 31],
    ['0b101', 5],
    ['010', 8],
    ['0o10', 8],
    ['+7', 7],
    ['4294967295', 4_294_967_295],
    ['', 0],
  ])('reads requests_per_unit: %s as %d', (written, limit) => {
    expect(limitOf(rule(`unit: day\nrequests_per_unit: ${written}`))?.limit).toBe(limit)
  })

  it.each([
    ['007', '007'],
    ['12', '12'],
    ['true', 'true'],
    ['yes', 'yes'],
    ['"1.5"', '1.5'],
    ['${HOME}', '${HOME}'],
  ])('keeps value: %s as it is written', (written, value) => {
    const text = rule('unit: day\nrequests_per_unit: 3', `    value: ${written}\n`)
    expect(limitOf(text, value)?.limit).toBe(3)
  })

  it.each([
    ['yes', true],
    ['On', true],
    ['TRUE', true],
    ['no', false],
    ['off', false],
    ['', false],
  ])('reads shadow_mode: %s as %s', (written, isShadow) => {
    expect(limitOf(rule('unit: day', `    shadow_mode: ${written}\n`))?.isShadow).toBe(isShadow)
  })

  it.each(['second', 'Minute', 'HOUR', 'day', 'week', 'month', 'year'])('accepts the unit %s', (unit) => {
    expect(limitOf(rule(`unit: ${unit}`))?.unit).toBeGreaterThan(0)
  })

  it('accepts anchors, aliases and merge keys', () => {
    const text = `domain: shop
descriptors:
  - key: base
    rate_limit: &base { unit: day, requests_per_unit: 4 }
  - key: user
    rate_limit: { <<: *base, requests_per_unit: 9 }
`
    expect(limitOf(text)).toMatchObject({ limit: 9, unit: 4 })
  })

  it('ignores an empty rate_limit and empty descriptors', () => {
    expect(
      limitOf('domain: shop\ndescriptors:\n  - key: user\n    rate_limit:\n    descriptors:\n'),
    ).toBeUndefined()
  })
})
