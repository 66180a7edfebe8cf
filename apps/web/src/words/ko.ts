import { formatDuration } from '../format.js'
import type { Words } from './en.js'
import { dashboardKo } from './ko-dashboard.js'
import { koStories } from './ko-stories.js'

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
  dashboard: dashboardKo,
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
  stories: {
    title: '여덟 가지 이야기',
    lead: '무엇이 잘못되는지, 무엇이 잘못처럼 보이지만 아닌지, 그리고 왜 그런지. 글에 나오는 숫자는 바로 아래 실행에서 나온 것입니다.',
    list: '이야기 목록',
    notice: '눈여겨볼 것',
    texts: koStories,
  },
  choose: {
    title: '무엇을 골라야 할까?',
    lead: '많아야 네 가지 질문입니다. 끝에는 가져다 쓸 정책이 나옵니다.',
    yes: '예',
    no: '아니요',
    result: '답',
    questions: {
      bursts: {
        ask: '평균만 지키면 한꺼번에 많이 보내도 되나요?',
        why: '한 번에 열 가지를 불러오는 화면, 잠에서 깨어난 앱, 일괄 작업이 그렇습니다.',
      },
      even: {
        ask: '제한 뒤에 있는 쪽에 요청이 고르게 닿아야 하나요?',
        why: '프린터, 할당량이 엄격한 협력사, 느린 작업의 대기열. 요청마다 얼마나 기다릴지 알려 줍니다.',
      },
      simple: {
        ask: '사람들이 말로 할 수 있는 할당량이고, 경계에서 두 배가 지나가도 괜찮나요?',
        why: '"하루 1,000건, UTC 자정에 새로 시작". 이보다 단순하고 값싼 것은 없습니다.',
      },
      exact: {
        ask: '어느 구간을 잡아도 제한을 절대 넘으면 안 되나요?',
        why: '로그인, 결제, 문자 발송. 요청을 모두 기억하므로 제한이 작아야 좋습니다.',
      },
    },
    because: {
      'token-bucket': '용량까지는 몰려와도 되고, 그 뒤로는 일정한 속도입니다. API에 흔히 쓰는 선택입니다.',
      'leaky-bucket': '용량까지 받아들이고, 고르게 나가도록 요청마다 얼마나 붙잡아 둘지 알려 줍니다.',
      'fixed-window':
        '윈도우마다 새로 시작하는 숫자 하나입니다. 경계 앞뒤로 제한의 두 배가 지나갈 수 있음을 기억하세요.',
      'sliding-window-log': '요청의 시각을 모두 간직합니다. 구간을 어디에 잡아도 제한을 넘지 않습니다.',
      'sliding-window-counter':
        '숫자 두 개로 로그에 가까운 결과를 냅니다. 제한이 얼마든 됩니다. "1분에 몇 건" 같은 일상적인 제한에 씁니다.',
    },
    keys: '키 (클라이언트) 수',
    yamlNote: 'tidegate.yaml, 실행은 tidegate start --config tidegate.yaml',
    typescriptNote: '서비스 없이 프로세스 안에서',
    curlNote: '이 파일로 띄운 서비스에 묻기',
    memory: '메모리',
    inProcess: '프로세스 안',
    inRedis: 'Redis',
    memoryNote: (keys) =>
      `짧은 이름의 키 ${keys}개가 모두 제한을 다 썼을 때의 어림값입니다. 측정 결과가 있는 docs/benchmarks.md에서 계산했습니다.`,
    copy: '복사',
    copied: '복사됨',
    copyWhat: (what) => `복사: ${what}`,
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
