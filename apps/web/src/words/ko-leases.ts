import type { enLeases } from './en-leases.js'
import { formatCount, formatsFor } from './format.js'

const { duration, period } = formatsFor('ko')

export const koLeases: typeof enLeases = {
  algorithm: '알고리즘',
  numbers: {
    rate: '윈도우당 요청 수',
    seed: '시드',
    limit: '한도',
    processes: '프로세스 수',
    maxAge: '최대 유효 시간 (%)',
    share: '리스 비율 (%)',
  },
  maxAgeHint: (maxAgeMs) => `윈도우 기준: ${period(maxAgeMs)}`,
  largest: (units) => `한도 기준: 리스당 최대 ${formatCount(units)}건`,
  tooSmall: '한도 기준: 너무 작아 리스하지 않음',
  note: '요청은 프로세스에 차례로 전달됩니다. 이 실험에서는 저장소 호출에 시간이 걸리지 않고, 거부 결과를 캐시하지 않습니다.',
  prices: {
    'fixed-window': '리스가 없을 때와 똑같이 세고, 쓰지 않은 허용량은 돌려줍니다.',
    'sliding-window-counter': '리스가 없을 때와 똑같이 세고, 쓰지 않은 허용량은 돌려줍니다.',
    'sliding-window-log':
      '리스를 쓰면 윈도우에 최대 유효 시간을 더한 만큼 세므로, 허용되는 요청이 조금 줄어듭니다.',
    'token-bucket':
      '리스를 쓰면 최대 유효 시간 동안 채워지는 토큰만큼 용량이 줄고, 쓰지 않은 허용량은 사라집니다.',
  },
  exact: '리스 없음',
  leased: '리스 사용',
  inWindow: (count, limit) =>
    count > limit
      ? `한도 초과: ${formatCount(count)}건, 한도 ${formatCount(limit)}건`
      : `한도 준수: 한 윈도우에 최대 ${formatCount(count)}건, 한도 ${formatCount(limit)}건`,
  burst: (count, capacity) =>
    count > capacity
      ? `한도 초과: 버스트 ${formatCount(count)}, 용량 ${formatCount(capacity)}`
      : `한도 준수: 최대 버스트 ${formatCount(count)}, 용량 ${formatCount(capacity)}`,
  inStore: '저장소에 남은 허용량',
  inHand: '보유한 허용량',
  checks: '요청',
  calls: '저장소 호출',
  callsChart: '시간에 따른 저장소 호출 수와 요청 수',
  callsPerBin: (binMs) => `${duration(binMs)}당 호출 수와 요청 수`,
  callCount: (calls) => `호출 ${formatCount(calls)}회`,
  checkCount: (checks) => `요청 ${formatCount(checks)}건`,
  perCheck: '요청 1건당 저장소 호출 수 (리스가 없으면 1.00)',
  handsNote: (most) => `프로세스당 최대 ${formatCount(most)}건`,
  handsChart: '시간에 따른 프로세스별 허용량',
  byProcess: '프로세스별 보유한 허용량',
  process: (number) => `프로세스 ${number}`,
}
