import { formatDuration } from '../format.js'
import type { Words } from './words.js'

export const ko: Words = {
  name: '한국어',
  shell: {
    skip: '본문으로 건너뛰기',
    views: '화면',
    toLight: '밝은 색으로',
    toDark: '어두운 색으로',
    footer:
      '실험실은 실제 @tidegate/core를 브라우저에서 그대로 실행합니다. 여기서 한 일은 어디로도 전송되지 않습니다.',
  },
  views: { compare: '비교', stories: '이야기', choose: '고르기' },
  algorithms: {
    'fixed-window': '고정 윈도우',
    'sliding-window-log': '슬라이딩 윈도우 로그',
    'sliding-window-counter': '슬라이딩 윈도우 카운터',
    'token-bucket': '토큰 버킷',
    'leaky-bucket': '리키 버킷',
  },
  lab: {
    time: '시간',
    play: '재생',
    pause: '멈춤',
    stepBack: '이전 요청으로',
    stepOn: '다음 요청으로',
    speed: '속도',
    arrivals: '들어온 요청',
    requests: '건',
    allowed: '허용',
    refused: '거부',
    legend: '보이기와 숨기기',
    naive: (name) => `${name} (단순 구현)`,
    worst: (count, limit) => `최악의 구간 ${count}, 제한 ${limit}`,
    limitIs: (limit, windowMs) => `제한: ${formatDuration(windowMs)}에 ${limit}건`,
    laneChart: (name) => `${name}: 시간에 따른 허용과 거부, 그리고 내부 상태`,
    linesChart: '알고리즘마다 선 하나씩, 시간에 따른 변화',
    inLastWindow: (windowMs) => `최근 ${formatDuration(windowMs)} 동안 허용된 수와 제한`,
    through: (binMs) => `${formatDuration(binMs)}마다 실제로 통과한 수`,
    cut: (count) => `처음 ${count}건만 보여 줍니다.`,
    drawLabel: '요청 그리기: 누르거나 끌기. 키보드는 좌우 화살표로 고르고 위아래 화살표로 바꿉니다',
    drawCell: (atMs, count) => `${formatDuration(atMs)}: ${count}건`,
    inside: (state) => {
      switch (state.kind) {
        case 'fixed-window':
          return `이번 윈도우에 ${state.count} / ${state.limit}`
        case 'sliding-window-log':
          return `로그에 ${state.count} / ${state.limit}`
        case 'sliding-window-counter': {
          const weight = (1 - state.elapsed).toFixed(2)
          return `${state.prev} × ${weight} + ${state.curr}: ${state.used} / ${state.limit}`
        }
        case 'token-bucket':
          return `토큰 ${state.tokens.toFixed(1)} / ${state.capacity}`
        case 'leaky-bucket':
          return state.level > 0
            ? `물 ${state.level.toFixed(1)} / ${state.capacity}, 다음 요청은 ${formatDuration(state.waitMs)} 대기`
            : `비어 있음, 용량 ${state.capacity}`
      }
    },
  },
  compare: {
    title: '같은 요청, 다섯 가지 제한 방법',
    lead: '트래픽과 숫자를 고른 다음 시계를 직접 움직여 보세요. 재생하거나, 끌거나, 요청 하나씩 넘길 수 있습니다.',
    traffic: '트래픽',
    policy: '숫자',
    window: '윈도우',
    sameAsLimit: '0이면 제한과 같음',
    kinds: {
      steady: '일정하게',
      bursts: '몰아서',
      boundary: '경계 공격',
      ramp: '점점 많이',
      random: '무작위',
      drawn: '직접 그리기',
    },
    kindNotes: {
      steady: '언제나 같은 간격으로 하나씩 들어옵니다.',
      bursts: '한순간에 여럿이 몰리고, 그다음은 조용합니다.',
      boundary: '윈도우가 끝나기 직전에 한도만큼, 새 윈도우가 열리자마자 또 한도만큼 보냅니다.',
      ramp: '0에서 시작해 고르게 늘어납니다.',
      random: '여러 사람이 따로 보내는 요청입니다. 시드가 같으면 트래픽도 같습니다.',
      drawn: '들어온 요청 줄에서 누르거나 끌어 보세요. 키보드는 화살표, Page Up, Page Down, Delete를 씁니다.',
    },
    numbers: {
      limit: '제한',
      capacity: '버킷 용량',
      windows: '보여 줄 윈도우 수',
      rate: '윈도우당 요청 수',
      size: '한 번에 몰리는 수',
      every: '간격 (윈도우의 %)',
      lead: '경계와의 거리 (윈도우의 %)',
      seed: '시드',
    },
    windows: { '1s': '1초', '10s': '10초', '1m': '1분', '1h': '1시간', '1d': '하루' },
  },
}
