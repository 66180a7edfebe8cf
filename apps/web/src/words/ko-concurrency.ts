import type { enConcurrency } from './en-concurrency.js'
import { formatCount, formatsFor } from './format.js'

const { period } = formatsFor('ko')

export const koConcurrency: typeof enConcurrency = {
  numbers: {
    rate: '분당 요청 수',
    size: '버스트당 요청 수',
    every: '간격 (초)',
    seed: '시드',
    duration: '요청 처리 시간 (ms)',
    limit: '슬롯 수',
  },
  limitIs: (limit) => `한도: 동시에 ${formatCount(limit)}건`,
  average: (rate, durationMs, average) =>
    `분당 ${formatCount(rate)}건 × ${period(durationMs)} = 제한이 없으면 평균 ${formatCount(Number(average.toFixed(1)))}건을 동시에 처리합니다.`,
  slotsInUse: '사용 중인 슬롯',
  inUse: (count, limit) => `슬롯 ${count} / ${limit} 사용 중`,
  most: (count, limit) => `동시 처리 최대 ${count}건, 한도 ${limit}건`,
}
