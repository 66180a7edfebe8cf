import { expect, it } from 'vitest'
import { readQuery } from './promql.js'

it.each([
  ['up', ['up'], []],
  ['rate(a_total[5m])', ['a_total'], []],
  ['sum(rate(a_total{b="c"}[1m])) by (d)', ['a_total{b="c"}'], ['d']],
  ['sum by (d, e) (a)', ['a'], ['d', 'e']],
  ['a / ignoring(x) group_left b', ['a', 'b'], ['x']],
  ['a > 0.5 and b offset 5m unless on() c', ['a', 'b', 'c'], []],
  ['histogram_quantile(0.99, sum by (le) (rate(a_bucket[$__rate_interval])))', ['a_bucket'], ['le']],
  ['a{b="x, {y}",c=~"$d",e!="f"}', ['a{b="x, {y}",c=~"$d",e!="f"}'], []],
  ["job:a:rate5m{b='c'} == 1e3", ['job:a:rate5m{b="c"}'], []],
])('%s selects %j', (text, selectors, groupedBy) => {
  const query = readQuery(text)
  const written = query.selectors.map(({ name, matchers }) => {
    const inside = matchers.map(({ label, operator, value }) => `${label}${operator}"${value}"`)
    return matchers.length === 0 ? name : `${name}{${inside.join(',')}}`
  })
  expect(written).toStrictEqual(selectors)
  expect(query.groupedBy).toStrictEqual(groupedBy)
})
