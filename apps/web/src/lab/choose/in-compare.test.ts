import { expect, it } from 'vitest'
import { parsePlace } from '../../page/address.js'
import { readChoice } from './choice.js'
import { inCompare } from './in-compare.js'

const shown = (query: string) => {
  const params = inCompare(readChoice(parsePlace(`#/choose?${query}`).params)!)
  return params && Object.fromEntries(params)
}

it.each([
  ['answers=y&limit=30&capacity=40', { limit: '30', capacity: '40' }],
  ['answers=nnnn&limit=20&countDenied=true', { countDenied: 'true' }],
  ['for=attempts', { window: '15m', start: 'first-request', limit: '5' }],
  ['for=quota&limit=20&timeZone=Asia/Seoul', { window: 'month', timeZone: 'Asia/Seoul' }],
  ['for=in-flight', { show: 'concurrency', limit: '10' }],
])('%s is shown with %j', (query, params) => {
  expect(shown(query)).toStrictEqual(params)
})

it.each(['for=tokens', 'for=quota&window=year&limit=9', 'answers=y&limit=501', 'for=in-flight&limit=101'])(
  '%s has numbers that Compare cannot show',
  (query) => {
    expect(shown(query)).toBeUndefined()
  },
)
