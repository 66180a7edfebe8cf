import type { Words } from './en.js'
import { formatCount, formatsFor } from './format.js'
import { koConcurrency } from './ko-concurrency.js'
import { dashboardKo } from './ko-dashboard.js'
import { koLeases } from './ko-leases.js'
import { koStories } from './ko-stories.js'

const format = formatsFor('ko')

const durations = {
  '1s': '1초',
  '10s': '10초',
  '30s': '30초',
  '1m': '1분',
  '5m': '5분',
  '15m': '15분',
  '1h': '1시간',
  '1d': '1일',
}

const worst = (count: number, limit: number) =>
  `구간 최대 ${formatCount(count)}건, 한도 ${formatCount(limit)}건`

export const ko: Words = {
  name: '한국어',
  format,
  shell: {
    skip: '본문으로 건너뛰기',
    views: '화면',
    toLight: '라이트 테마',
    toDark: '다크 테마',
    footer: '실험실은 실제 @tidegate/core를 브라우저에서 실행합니다. 외부로 전송되는 데이터는 없습니다.',
    links: '링크',
    apiReference: 'API 문서',
    install: '설치:',
    loadFailed: '이 화면을 불러오지 못했습니다. 페이지를 새로고침하세요.',
  },
  views: { compare: '비교', stories: '이야기', choose: '고르기' },
  dashboard: dashboardKo,
  fields: {
    range: (min, max) => `${formatCount(min)}부터 ${formatCount(max)}까지 입력할 수 있습니다.`,
  },
  copy: {
    copy: '복사',
    copied: '복사됨',
    label: (title) => `${title} 복사`,
  },
  algorithms: {
    'fixed-window': '고정 윈도우',
    'sliding-window-log': '슬라이딩 윈도우 로그',
    'sliding-window-counter': '슬라이딩 윈도우 카운터',
    'token-bucket': '토큰 버킷',
    'leaky-bucket': '리키 버킷',
    concurrency: '동시 실행',
  },
  lab: {
    time: '시간',
    play: '재생',
    pause: '일시 정지',
    stepBack: '이전 요청',
    stepForward: '다음 요청',
    speed: '속도',
    arrivals: '들어온 요청',
    requests: '건',
    perBin: (binMs) => `${format.duration(binMs)}당 요청 수`,
    allowed: '허용',
    denied: '거부',
    marks: {
      allowed: '허용',
      denied: '거부',
      state: '내부 상태',
      limit: '한도',
      windowStart: '윈도우 시작',
      blocked: '차단',
    },
    blockedFor: (ms) => `차단됨, ${format.duration(ms)} 남음`,
    chartLegend: '범례',
    levels: {
      'fixed-window': '윈도우 내 횟수',
      'sliding-window-log': '로그 항목 수',
      'sliding-window-counter': '추정 횟수',
      'token-bucket': '남은 토큰',
      'leaky-bucket': '대기 중인 요청',
    },
    legend: '알고리즘 표시 또는 숨기기',
    naive: (name) => `${name} (단순 구현)`,
    worst: {
      'fixed-window': worst,
      'sliding-window-log': worst,
      'sliding-window-counter': worst,
      'token-bucket': (count, bound) =>
        `구간 최대 ${formatCount(count)}건, 용량 + 충전 ${formatCount(bound)}건`,
      'leaky-bucket': (count, bound) =>
        `구간 최대 ${formatCount(count)}건, 용량 + 누수 ${formatCount(bound)}건`,
    },
    limitIs: (limit, windowMs) => `한도: ${format.limit(limit, windowMs)}`,
    limitInCalendar: (limit, unit, timeZone) => `한도: ${format.calendarLimit(limit, unit)}, ${timeZone}`,
    laneChart: (name) => `${name}: 시간에 따른 허용과 거부, 그리고 내부 상태`,
    linesChart: '시간에 따른 알고리즘별 변화',
    inLastWindow: (windowMs) => `직전 ${format.period(windowMs)} 동안 허용된 요청 수와 한도`,
    limitLine: (limit) => `한도 ${formatCount(limit)}`,
    released: (binMs) => `${format.period(binMs)}마다 내보낸 요청 수`,
    cut: (count) => `처음 ${formatCount(count)}건만 표시합니다.`,
    drawLabel:
      '요청 그리기: 클릭하거나 드래그합니다. 키보드에서는 좌우 화살표로 위치를, 위아래 화살표로 요청 수를 바꿉니다',
    drawCell: (atMs, count) => `${format.duration(atMs)}: ${count}건`,
    inside: (state) => {
      switch (state.kind) {
        case 'fixed-window':
          return state.elapsed === undefined
            ? `열린 윈도우 없음, 한도 ${formatCount(state.limit)}`
            : `이번 윈도우 ${formatCount(state.count)} / ${formatCount(state.limit)}`
        case 'sliding-window-log':
          return `로그 항목 ${formatCount(state.count)} / ${formatCount(state.limit)}`
        case 'sliding-window-counter': {
          const weight = (1 - state.elapsed).toFixed(2)
          return `${formatCount(state.prev)} × ${weight} + ${formatCount(state.curr)}: ${formatCount(state.used)} / ${formatCount(state.limit)}`
        }
        case 'token-bucket':
          return `토큰 ${state.tokens.toFixed(1)} / ${formatCount(state.capacity)}`
        case 'leaky-bucket':
          return state.level > 0
            ? `${state.level.toFixed(1)} / ${state.capacity}, 다음 요청 ${format.duration(state.waitMs)} 대기`
            : `비어 있음, 용량 ${state.capacity}`
      }
    },
  },
  stories: {
    title: '여덟 가지 이야기',
    lead: '요청 제한을 쓸 때 흔히 겪는 뜻밖의 동작과 그 원인을 살펴봅니다. 글에 나오는 숫자는 바로 아래 실행 결과입니다.',
    list: '이야기 목록',
    hint: '힌트:',
    next: (title) => `다음: ${title}`,
    texts: koStories,
  },
  choose: {
    title: '어떤 제한이 필요한가요?',
    lead: '몇 가지 질문에 답하면 복사해서 쓸 수 있는 정책이 나옵니다.',
    use: '무엇을 제한하려고 하나요?',
    uses: {
      requests: {
        text: '단위 시간당 요청 수',
        examples: 'API, 웹 페이지, 웹훅. 초당, 분당, 시간당 요청 수를 제한합니다.',
      },
      attempts: {
        text: '실패한 시도',
        examples: '"15분 동안 로그인 실패 5회", 잘못된 인증 번호, 잘못된 쿠폰 번호.',
      },
      quota: {
        text: '일별·월별 할당량',
        examples: '"한 달에 보고서 1,000건", 무료 요금제, 하루 예산. 지정한 시간대의 자정에 초기화됩니다.',
      },
      'in-flight': {
        text: '동시에 처리 중인 요청',
        examples: '업로드, 보고서 생성, 느린 API 호출. 동시에 처리하는 수를 제한합니다.',
      },
      tokens: {
        text: '사후에 확정되는 비용',
        examples: '언어 모델의 토큰, 금액, 바이트. 응답이 끝나야 비용을 알 수 있습니다.',
      },
    },
    yes: '예',
    no: '아니요',
    result: '추천 정책',
    questions: {
      bursts: {
        text: '평균이 한도 이내라면 요청이 잠깐 몰려도 괜찮나요?',
        examples: '리소스 열 개를 한꺼번에 불러오는 페이지, 절전 모드에서 깨어난 앱, 배치 작업.',
      },
      even: {
        text: '백엔드에 요청이 일정한 속도로 들어가야 하나요?',
        examples:
          '프린터, 호출 한도가 엄격한 외부 API, 느린 작업의 대기열. 허용된 요청마다 지연 시간을 알려 줍니다.',
      },
      simple: {
        text: '단순한 기간별 할당량이고, 초기화 시점 전후로 한도의 두 배까지 통과해도 괜찮나요?',
        examples: '"하루 1,000건, UTC 자정에 초기화". 가장 단순하고 비용이 적은 알고리즘입니다.',
      },
      exact: {
        text: '구간을 어디에 잡아도 한도를 절대 넘으면 안 되나요?',
        examples: '로그인, 결제, 문자 발송. 요청을 모두 저장하므로 한도가 작을 때 알맞습니다.',
      },
    },
    because: {
      'token-bucket':
        '용량만큼 버스트를 허용하고, 그 뒤로는 일정한 속도로 제한합니다. API에 가장 흔히 쓰입니다.',
      'leaky-bucket': '용량만큼 받아들이고, 요청이 고르게 나가도록 요청마다 지연 시간을 알려 줍니다.',
      'fixed-window':
        '윈도우마다 다시 시작하는 카운터 하나입니다. 경계 전후로 한도의 두 배까지 통과할 수 있습니다.',
      'sliding-window-log': '요청의 시각을 모두 저장합니다. 구간을 어디에 잡아도 한도를 넘지 않습니다.',
      'sliding-window-counter':
        '카운터 두 개로 로그에 가까운 결과를 내며, 한도가 커도 됩니다. "분당 100건" 같은 일반적인 제한에 알맞습니다.',
      attempts:
        '키마다 첫 시도부터 시작하는 고정 윈도우입니다. 차단을 설정하면 거부된 키는 윈도우가 끝난 뒤에도 계속 거부됩니다.',
      quota: '달력 기준의 고정 윈도우입니다. 지정한 시간대의 자정에 횟수가 초기화됩니다.',
      concurrency:
        '요청은 처리되는 동안 슬롯을 하나씩 차지합니다. 비정상 종료된 프로세스의 슬롯은 만료됩니다.',
      tokens: '작업 전에 예상 비용을 예약하고, 끝난 뒤 실제 비용으로 정산합니다.',
    },
    blockFor: '거부 시 차단',
    noBlock: '차단 안 함',
    ttl: '슬롯 만료 시간',
    tryIt: '실험실에서 직접 해 보기',
    keys: '키(클라이언트) 수',
    yamlNote: 'tidegate.yaml로 저장한 뒤 실행: tidegate start --config tidegate.yaml',
    typescriptNote: '서비스 없이 애플리케이션에서 직접 사용',
    curlNotes: {
      requests: '이 파일로 실행한 서비스에 요청 보내기',
      attempts: '이 파일로 실행한 서비스에 요청 보내기',
      quota: '이 파일로 실행한 서비스에 요청 보내기',
      'in-flight': '이 파일로 실행한 서비스에서 슬롯을 얻고 반납하기',
      tokens: '이 파일로 실행한 서비스에 예상 비용을 예약하고 실제 비용으로 정산하기',
    },
    memory: '메모리',
    inProcess: '프로세스 메모리',
    inRedis: 'Redis',
    memoryNote: (keys) =>
      `이름이 짧은 키 ${keys}개가 모두 한도에 도달했을 때의 추정치입니다(docs/benchmarks.md 참고).`,
    memoryTooLarge: '대부분의 서버 메모리보다 큽니다.',
    counterInstead: (size) => `슬라이딩 윈도우 카운터를 쓰면 Redis에서 ${size}면 됩니다.`,
  },
  leases: koLeases,
  concurrency: koConcurrency,
  compare: {
    show: '비교 대상',
    shown: {
      algorithms: {
        label: '알고리즘',
        title: '같은 요청, 다섯 가지 알고리즘',
        lead: '트래픽과 한도를 고른 다음 시계를 움직여 보세요. 재생하거나, 드래그하거나, 요청을 하나씩 넘길 수 있습니다.',
      },
      leases: {
        label: '리스',
        title: '같은 한도, 더 적은 저장소 호출',
        lead: '리스(lease)를 쓰면 프로세스가 요청이 몰리는 키의 허용량을 미리 확보해 두고, 다음 요청은 저장소 없이 판정합니다. 그래도 한도는 지켜집니다.',
      },
      concurrency: {
        label: '동시 실행',
        title: '동시에 처리 중인 요청',
        lead: '요청은 처리되는 동안 슬롯을 하나씩 차지합니다. 모든 슬롯이 사용 중이면 새 요청은 거부됩니다.',
      },
    },
    traffic: '트래픽',
    settings: '설정',
    window: '윈도우',
    sameAsLimit: '기본값: 한도',
    start: '윈도우 시작',
    starts: { epoch: '시계 기준', 'first-request': '첫 요청 기준' },
    timeZone: '시간대',
    countDenied: '거부된 요청도 집계',
    clear: '그린 요청 지우기',
    policyNote:
      '윈도우 시작과 달력 기준은 고정 윈도우에만 적용됩니다. 거부된 요청 집계는 세 가지 윈도우 알고리즘에, 차단은 모든 알고리즘에 적용됩니다.',
    kinds: {
      steady: '일정',
      bursts: '버스트',
      boundary: '경계 공격',
      ramp: '점진 증가',
      random: '무작위',
      drawn: '직접 그리기',
    },
    kindNotes: {
      steady: '요청이 일정한 간격으로 들어옵니다.',
      bursts: '요청이 한꺼번에 몰린 뒤 한동안 들어오지 않습니다.',
      boundary: '윈도우가 끝나기 직전에 한도만큼, 새 윈도우가 열리자마자 또 한도만큼 보냅니다.',
      ramp: '0에서 시작해 꾸준히 늘어납니다.',
      random: '여러 클라이언트가 서로 무관하게 보내는 요청입니다. 시드가 같으면 트래픽도 같습니다.',
      drawn:
        '‘들어온 요청’ 행에서 클릭하거나 드래그하세요. 키보드로는 화살표, Page Up, Page Down, Delete를 씁니다.',
    },
    numbers: {
      limit: '한도',
      capacity: '버킷 용량',
      block: '차단 시간 (윈도우의 %)',
      windows: '표시할 윈도우 수',
      rate: '윈도우당 요청 수',
      size: '버스트당 요청 수',
      every: '간격 (윈도우의 %)',
      lead: '버스트 길이 (윈도우의 %)',
      seed: '시드',
    },
    durations,
    windows: {
      ...durations,
      day: '일 (달력 기준)',
      week: '주 (달력 기준)',
      month: '월 (달력 기준)',
      year: '연 (달력 기준)',
    },
  },
}
