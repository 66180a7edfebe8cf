import type { StoryTexts } from './en-stories.js'
import { formatBytes, formatCount, formatsFor } from './format.js'

const { duration } = formatsFor('ko')

export const koStories: StoryTexts = {
  boundary: {
    title: '윈도우 경계',
    text: ({ limit, seconds, fixed, log, counter, token, leaky }) => [
      `한도는 한 시간에 ${limit}건입니다. 한 클라이언트가 10시 직전 10초 동안 ${limit}건, 10시 직후 10초 동안 또 ${limit}건을 보냅니다. 고정 윈도우는 이 요청을 서로 다른 두 윈도우에 나누어 세고, 각 윈도우는 한도를 넘지 않습니다. 그래서 ${seconds}초 동안 ${fixed}건을 허용합니다.`,
      `로그는 요청마다 꼬박 한 시간을 되돌아보므로 ${log}건에서 멈춥니다. 카운터는 이전 윈도우를 아직 거의 그대로 반영하므로 ${counter}건에서 멈춥니다. 버킷에는 윈도우가 없습니다. 토큰 버킷은 ${token}건, 리키 버킷은 ${leaky}건입니다.`,
    ],
    hint: () => '시계를 드래그해 10:00:00을 지나 보세요. 고정 윈도우의 횟수가 한꺼번에 0이 됩니다.',
  },
  'idle-hour': {
    title: '조용했던 한 시간',
    text: ({ limit, fixed, counter, leaky, longestDelayMs }) => [
      `한순간에 ${limit}건이 오고, 한 시간 동안 조용하다가, 다시 한순간에 ${limit}건이 옵니다. 잘못된 동작은 없습니다. 그래도 "한 시간에 ${limit}건"이라는 제한이 요청을 한 시간에 걸쳐 나눠 주지는 않습니다. 고정 윈도우는 두 번째로 몰린 ${fixed}건을 모두 바로 허용하고, 로그와 토큰 버킷도 마찬가지입니다. 쓰지 않은 몫은 쌓이지 않고, 허용된 요청은 분산되지 않습니다.`,
      `나머지 둘은 다르게 동작합니다. 정각 11시에 카운터는 이전 윈도우를 아직 전부 반영해 ${counter === 0 ? '한 건도 허용하지 않습니다' : `${counter}건을 허용합니다`}. 리키 버킷은 ${leaky}건을 받지만 마지막 요청을 ${duration(longestDelayMs)} 동안 지연시킵니다. 그래서 백엔드에는 정말로 한 시간에 걸쳐 도착합니다.`,
    ],
    hint: () =>
      '11:00:00의 그림을 비교해 보세요. 가득 찬 것, 비어 있는 것, 대기열이 있는 것은 각각 무엇인가요?',
  },
  memory: {
    title: '로그가 저장하는 것',
    text: ({ limit, users, entries, logBytes, counterBytes }) => [
      `정확하려면 로그는 허용한 요청의 시각을 모두 저장해야 합니다. 여기서는 한도 ${limit}에 대해 ${entries}개입니다. 카운터는 한도가 얼마든 숫자 네 개면 됩니다.`,
      `사용자가 ${formatCount(users)}명이면 Redis에서 약 ${formatBytes(logBytes)} 대 ${formatBytes(counterBytes)}입니다. 한도가 10이면 차이가 미미하지만, 10,000이면 선택을 좌우합니다.`,
    ],
    hint: () => '재생해 보세요. 점은 하나씩 빠져나가고, 두 상자는 높이만 바뀝니다.',
  },
  estimate: {
    title: '카운터가 틀리는 곳',
    text: ({ limit, worst, log, tooEarly, even, fraction }) => [
      `카운터는 이전 윈도우를 아직 겹쳐 있는 비율만큼만 반영합니다. 이전 윈도우에 80건, 현재 윈도우에 40건이 왔고 현재 윈도우가 절반 지났다면 80 × 0.5 + 40 = ${even}입니다. 8건과 3건이 왔고 10분의 1이 지났다면 8 × 0.9 + 3 = ${fraction}입니다. Tidegate는 이전 윈도우의 몫을 내림하므로(7 + 3 = 10) 한도 10에 도달합니다. 이전 윈도우를 고르게 썼다면 맞는 계산입니다.`,
      `여기서는 고르지 않았습니다. ${limit}건이 한 윈도우의 맨 끝에, 또 ${limit}건이 다음 윈도우의 끝 무렵에 왔습니다. 카운터는 앞의 요청이 대부분 빠졌다고 가정하고 1분 안에 ${worst}건을 허용합니다. 한도의 두 배이며, 이것이 최악의 경우입니다. 로그는 ${log}건만 허용합니다. 반대로 너무 엄격할 때도 있습니다. 윈도우 첫머리에 온 ${limit}건은, 로그에서는 이미 빠진 다음 윈도우 한가운데에서도 아직 ${tooEarly}건으로 계산됩니다.`,
    ],
    hint: () => '10:02:00 직전에 멈춰 보세요. 왼쪽 상자의 진한 부분이 아직 반영되는 몫입니다.',
  },
  'lazy-refill': {
    title: '지연 충전(lazy refill)',
    text: ({ taken, left, seconds, justBefore, atNextCheck, users, timerWrites }) => [
      `토큰 100개짜리 버킷에 매초 10개씩 충전됩니다. ${taken}개를 쓰고 ${left}개가 남았습니다. 그 뒤 ${seconds}초 동안 요청이 없으면 정말로 아무 일도 일어나지 않습니다. 타이머도 없고, 기록도 없습니다.`,
      `다음 요청이 오면 버킷은 그동안의 충전분을 한 번에 계산합니다. ${left} + ${seconds} × 10 = ${atNextCheck}. 1마이크로초만 일렀어도 ${justBefore}개였을 것입니다. 타이머로 버킷 ${formatCount(users)}개를 매초 채웠다면 그 사이 ${formatCount(timerWrites)}번 기록했을 것입니다.`,
    ],
    hint: () => '두 버스트 사이에서 올라가는 선은 어디에도 저장되지 않습니다. 저장되는 것은 양 끝뿐입니다.',
  },
  'token-or-leaky': {
    title: '토큰과 리키, 코드 한 줄 차이',
    text: ({ requests, token, different, tokenDelayMs, leakyDelayMs }) => [
      `토큰 버킷은 남은 토큰을 세고, 리키 버킷은 대기 중인 요청을 셉니다. 요청을 허용할 때 하나는 빼고(level − cost), 하나는 더합니다(level + cost). 숫자가 같으면 둘은 똑같은 요청을 허용합니다. ${requests}건 중 ${token}건이고, 판정이 갈린 요청은 ${different}건입니다.`,
      `차이는 허용된 요청이 나가는 시점입니다. 토큰 버킷은 몰려온 요청을 바로 내보냅니다(가장 긴 지연 ${duration(tokenDelayMs)}). 리키 버킷은 고르게 나가도록 요청마다 지연 시간을 알려 줍니다. 최대 ${duration(leakyDelayMs)}입니다.`,
    ],
    hint: () => '한 그림은 다른 그림을 위아래로 뒤집은 모양입니다. 버스트를 한 요청씩 넘겨 보세요.',
  },
  'lost-half': {
    title: '반 건을 잃어버린 누수',
    text: ({ perSecond, naive, tidegate, naiveInHalfMinute, tidegateInHalfMinute }) => [
      `가득 찬 버킷이 초당 ${perSecond}건씩 새고, 3초마다 확인합니다. 1.5건이 샜지만, 정수로만 세는 버킷은 1건을 빼고 시계를 다시 맞춥니다. 확인할 때마다 반 건이 사라집니다. 6초 뒤에는 ${tidegate}건이 아니라 ${naive}건, 30초 뒤에는 ${tidegateInHalfMinute}건이 아니라 ${naiveInHalfMinute}건만 샌 셈입니다. 자주 확인할수록 느리게 샙니다.`,
      'Tidegate는 수위를 아주 작은 단위의 정수로 저장합니다. 아무리 자주 확인해도 달라지지 않습니다.',
    ],
    hint: () =>
      '위쪽 행에서는 두 건이 올 때마다 한 건이 거부됩니다. 아래쪽 행에서는 두 번에 한 번은 두 건 모두 허용됩니다.',
  },
  'same-microsecond': {
    title: '같은 마이크로초의 두 요청',
    text: ({ limit, requests, naive, naiveStored, tidegate, tidegateStored }) => [
      `요청 ${requests}건이 같은 마이크로초에 도착하고 한도는 ${limit}건입니다. 시각의 집합만 저장하는 로그는 같은 항목을 거듭 덮어씁니다. ${naiveStored}건만 저장하고, 여유가 있다고 판단해 ${naive}건을 모두 허용합니다. 공격자가 없어도 배치 요청 한 번이면 됩니다.`,
      `Tidegate는 시각마다 몇 건인지를 셉니다. ${tidegate}건을 허용하고 ${tidegateStored}건을 저장합니다.`,
    ],
    hint: () => '두 로그의 점을 세어 보세요.',
  },
}
