import {
  concurrency,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { expect, it } from 'vitest'
import { WORDS } from '../../words/words.js'
import type { Policy as ShownPolicy } from './active-config.js'
import { denialTexts, limitText } from './limit-text.js'

/** As the service sends it: enumerable fields only, and always the limit. */
function sent(policy: Policy): ShownPolicy {
  return { ...JSON.parse(JSON.stringify(policy)), limit: policy.limit, keys: 'shown', from: { kind: 'file' } }
}

const withPlainSpaces = (text: string) => text.replaceAll('\u00a0', ' ')

const shown: readonly [Policy, string, string][] = [
  [fixedWindow({ limit: 100, window: '1m' }), '100 / min', '분당 100건'],
  [slidingWindowCounter({ limit: 5, window: '15m' }), '5 / 15 min', '15분당 5건'],
  [
    fixedWindow({ limit: 5, window: '15m', start: 'first-request' }),
    '5 / 15 min from the first request',
    '첫 요청부터 15분당 5건',
  ],
  [
    fixedWindow({ limit: 1000, window: 'month', timeZone: 'Asia/Seoul' }),
    '1,000 / month, Asia/Seoul',
    '한 달 1,000건, Asia/Seoul',
  ],
  [fixedWindow({ limit: 20, window: 'day' }), '20 / day, UTC', '하루 20건, UTC'],
  [
    concurrency({ limit: 1000, ttl: '30s' }),
    '1,000 in flight, slots expire after 30 s',
    '동시 1,000건, 슬롯은 30초 뒤 만료',
  ],
  [
    tokenBucket({ capacity: 20, refillRate: '10/1m' }),
    '20 burst, refills 10 / min',
    '버스트 20, 분당 10건 충전',
  ],
  [leakyBucket({ capacity: 20, leakRate: 10 }), '20 queued, drains 10 / s', '대기열 20, 초당 10건 배출'],
]
it.each(shown.map(([policy, en, ko]) => ({ policy, en, ko })))(
  '$policy.name is shown as $en',
  ({ policy, en, ko }) => {
    expect(withPlainSpaces(limitText(sent(policy), WORDS.en.dashboard.policies))).toBe(en)
    expect(withPlainSpaces(limitText(sent(policy), WORDS.ko.dashboard.policies))).toBe(ko)
  },
)

const tagged: readonly [Policy, string[], string[]][] = [
  [fixedWindow({ limit: 5, window: '1m' }), [], []],
  [concurrency({ limit: 5 }), [], []],
  [tokenBucket({ capacity: 5, refillRate: 1, blockFor: '15m' }), ['blocks for 15 min'], ['15분 차단']],
  [
    slidingWindowLog({ limit: 5, window: '1m', blockFor: '1h', countDenied: true }),
    ['blocks for 1 h', 'counts denied requests'],
    ['1시간 차단', '거부된 요청도 집계'],
  ],
]
it.each(tagged.map(([policy, en, ko]) => ({ policy, en, ko })))(
  '$policy.name has the tags $en',
  ({ policy, en, ko }) => {
    expect(denialTexts(sent(policy), WORDS.en.dashboard.policies).map(withPlainSpaces)).toStrictEqual(en)
    expect(denialTexts(sent(policy), WORDS.ko.dashboard.policies).map(withPlainSpaces)).toStrictEqual(ko)
  },
)
