import { describe, expect, it } from 'vitest'
import { createRuleStats, recordHits } from './rule-stats.js'

describe('hits within, near and over a limit of 10, near from 8', () => {
  it.each([
    // hits, after, expected [within, near, over]
    [1, 1, [1, 0, 0]],
    [1, 8, [1, 0, 0]],
    [1, 9, [1, 1, 0]],
    [4, 10, [4, 2, 0]],
    [1, 11, [0, 0, 1]],
    [5, 12, [0, 2, 2]],
    [3, 12, [0, 1, 2]],
    [20, 20, [0, 2, 10]],
    [7, 30, [0, 0, 7]],
  ])('%d hits that make %d in the window', (hits, after, [withinLimit, nearLimit, overLimit]) => {
    const stats = createRuleStats().of('rule')
    recordHits(stats, { hits, limit: 10, after, isOver: after > 10, isShadow: false, nearLimitRatio: 0.8 })
    expect(stats).toStrictEqual({ hits, withinLimit, nearLimit, overLimit, shadowMode: 0 })
  })
})

describe('rule statistics', () => {
  it('have a bounded number of names that depend on requests', () => {
    const stats = createRuleStats(3)
    stats.keep(['shop.user'])
    for (let i = 0; i < 100; i++) stats.of(`shop.user_${i}`).hits++
    expect([...stats.all()].map(([name, { hits }]) => `${name} ${hits}`)).toStrictEqual([
      'shop.user 0',
      'shop.user_0 1',
      'shop.user_1 1',
      'shop.user_2 1',
      '(other) 97',
    ])
  })

  it('have names of bounded length if they depend on requests', () => {
    const stats = createRuleStats()
    const ofFile = `shop.${'x'.repeat(1000)}`
    stats.keep([ofFile])
    stats.of(ofFile).hits++
    stats.of(`shop.user_${'x'.repeat(1000)}`).hits++
    expect([...stats.all()].map(([name, { hits }]) => `${name} ${hits}`)).toStrictEqual([
      `${ofFile} 1`,
      '(other) 1',
    ])
  })

  it('continue after a reload, and end with their rule', () => {
    const stats = createRuleStats()
    stats.keep(['a', 'b'])
    stats.of('a').hits = 7
    stats.keep(['a', 'c'])
    expect([...stats.all()].map(([name, { hits }]) => `${name} ${hits}`)).toStrictEqual(['a 7', 'c 0'])
  })
})
