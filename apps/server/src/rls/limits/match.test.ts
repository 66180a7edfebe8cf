import { describe, expect, it } from 'vitest'
import { loadLimits } from './load-limits.js'
import { matchRule } from './match.js'

const TEXT = `
domain: shop
descriptors:
  - key: plan
    value: free
    descriptors:
      - key: path
        rate_limit: { unit: second, requests_per_unit: 5 }
      - key: path
        value: /login
        rate_limit: { unit: second, requests_per_unit: 10 }
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 20 }
  - key: user
    value: bob
    rate_limit: { unit: minute, requests_per_unit: 30 }
  - key: user
    value: root
  - key: both
    value: one
    rate_limit: { unit: day, requests_per_unit: 15 }
    descriptors:
      - key: inner
        value: two
        rate_limit: { unit: day, requests_per_unit: 25 }
  - key: file
    value: a*
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: file
    value: ab*
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: file
    value: '*.png'
    rate_limit: { unit: hour, requests_per_unit: 3 }
  - key: file
    value: x*y*z
    rate_limit: { unit: hour, requests_per_unit: 4 }
  - key: file
    value: abc
    rate_limit: { unit: hour, requests_per_unit: 5 }
  - key: any
    value: '*'
    rate_limit: { unit: hour, requests_per_unit: 6 }
  - key: any
    rate_limit: { unit: hour, requests_per_unit: 7 }
  - key: na*
    rate_limit: { unit: hour, requests_per_unit: 8 }
  - key: dir
    value: in/*
    descriptors:
      - key: name
        value: k*
        rate_limit: { unit: hour, requests_per_unit: 9 }
`

function domainOf(text: string) {
  const loaded = loadLimits([{ file: 'limits.yaml', text }], {
    mergeDomains: false,
    onStoreFailure: 'open',
    instances: 1,
  })
  if ('errors' in loaded) throw new Error(JSON.stringify(loaded.errors))
  return loaded.limits.domains.get('shop')!
}

/** `user=bob path=/` as entries. */
function entriesOf(text: string) {
  return text.split(' ').map((pair) => {
    const [key = '', value = ''] = pair.split('=')
    return { key, value }
  })
}

describe('the rule of a descriptor', () => {
  const domain = domainOf(TEXT)

  it.each([
    ['a key with any value', 'user=ann', 20],
    ['an empty value', 'user=', 20],
    ['a value of its own comes before the key', 'user=bob', 30],
    ['a value without a limit has none', 'user=root', undefined],
    ['an unknown key', 'nothing=x', undefined],
    ['a nested key', 'plan=free path=/', 5],
    ['a nested value', 'plan=free path=/login', 10],
    ['a nested key below another value', 'plan=paid path=/', undefined],
    ['fewer entries than the rule', 'plan=free', undefined],
    ['more entries than the rule', 'user=ann path=/', undefined],
    ['a rule with descriptors inside', 'both=one', 15],
    ['the descriptor inside', 'both=one inner=two', 25],
    ['not the outer rule for an unknown inner entry', 'both=one inner=three', undefined],
    ['the order of entries counts', 'inner=two both=one', undefined],
    ['a trailing wildcard', 'file=axe', 1],
    ['a trailing wildcard matches nothing more', 'file=a', 1],
    ['the first wildcard of the file counts', 'file=abx', 1],
    ['an exact value comes before wildcards', 'file=abc', 5],
    ['a leading wildcard', 'file=cat.png', 3],
    ['a leading wildcard needs the whole end', 'file=cat.pngx', undefined],
    ['several wildcards', 'file=x1y2z', 4],
    ['several wildcards that match nothing', 'file=xyz', 4],
    ['several wildcards in another order', 'file=xzy', undefined],
    ['a wildcard part is not counted twice', 'file=xz', undefined],
    ['a wildcard for every value', 'any=thing', 6],
    ['a wildcard in the key', 'name=x', 8],
    ['nested wildcards', 'dir=in/a name=kim', 9],
    ['nested wildcards, the inner does not match', 'dir=in/a name=tim', undefined],
    ['a key that equals key and value of a rule, as in the reference', 'user_bob=', 30],
  ])('%s: %s', (_, entries, limit) => {
    expect(matchRule(domain, 'shop', entriesOf(entries))?.rule.limit).toBe(limit)
  })

  it('is undefined for a descriptor without entries', () => {
    expect(matchRule(domain, 'shop', [])).toBeUndefined()
  })
})

describe('share_threshold and the names of statistics', () => {
  const domain = domainOf(`
domain: shop
descriptors:
  - { key: own, value: f/*, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: shared, value: f/*, share_threshold: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - key: outer
    value: o*
    share_threshold: true
    descriptors:
      - { key: inner, rate_limit: { unit: hour, requests_per_unit: 1 } }
      - { key: shown, value_to_metric: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
      - { key: all, detailed_metric: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: value, value_to_metric: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: wild, value: w*, value_to_metric: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: detail, detailed_metric: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
`)

  it.each([
    ['own=f/1', 'own=f/1', 'shop.own_f/*'],
    ['shared=f/1', 'shared=f/*', 'shop.shared_f/*'],
    ['outer=o1 inner=x', 'outer=o* inner=x', 'shop.outer_o*.inner'],
    ['outer=o1 shown=x', 'outer=o* shown=x', 'shop.outer_o*.shown_x'],
    ['outer=o1 all=x', 'outer=o* all=x', 'shop.outer_o*.all_x'],
    ['value=x', 'value=x', 'shop.value_x'],
    ['value=', 'value=', 'shop.value'],
    ['wild=wet', 'wild=wet', 'shop.wild_wet'],
    ['detail=x', 'detail=x', 'shop.detail_x'],
  ])('%s counts as %s, under the name %s', (entries, keyEntries, metric) => {
    const match = matchRule(domain, 'shop', entriesOf(entries))
    expect(match?.keyEntries).toStrictEqual(entriesOf(keyEntries))
    expect(match?.metric).toBe(metric)
  })
})
