import { formatBytes, formatCount, formatDuration } from '../format.js'
import type { StoryTexts } from './en-stories.js'

export const koStories: StoryTexts = {
  boundary: {
    title: '윈도우 경계',
    text: ({ limit, seconds, fixed, log, counter, token, leaky }) => [
      `규칙은 한 시간에 ${limit}건입니다. 누군가 10시가 되기 전 마지막 10초에 ${limit}건, 10시가 된 뒤 첫 10초에 또 ${limit}건을 보냅니다. 고정 윈도우가 보기에는 서로 다른 두 시간이고 각각 제한 안에 있습니다. 그래서 ${seconds}초 동안 ${fixed}건이 통과합니다.`,
      `로그는 요청마다 꼬박 한 시간을 되돌아보므로 ${log}건에서 멈춥니다. 카운터는 지난 시간을 아직 거의 그대로 세고 있어 ${counter}건에서 멈춥니다. 버킷에는 시각이라는 것이 없습니다. 토큰 버킷은 ${token}건, 리키 버킷은 ${leaky}건입니다.`,
    ],
    notice: () => '시계를 10:00:00 너머로 끌어 보세요. 고정 윈도우가 모든 것을 한꺼번에 잊어버립니다.',
  },
  'idle-hour': {
    title: '조용했던 한 시간',
    text: ({ limit, fixed, counter, leaky, longestDelayMs }) => [
      `한순간에 ${limit}건, 한 시간의 침묵, 그리고 다시 한순간에 ${limit}건. 고장 난 것은 없습니다. 그래도 "한 시간에 ${limit}건"이라는 제한이 요청을 한 시간에 걸쳐 펴 주지는 않습니다. 고정 윈도우는 두 번째 ${fixed}건을 모두 바로 들여보내고, 로그와 토큰 버킷도 마찬가지입니다. 쓰지 않은 몫은 저축되지 않고, 허용된 몫은 흩어지지 않습니다.`,
      `둘은 다릅니다. 정각 11시에 카운터는 지난 시간의 무게를 아직 전부 쳐서 ${counter}건을 허용합니다. 리키 버킷은 ${leaky}건을 받아들이지만 마지막 요청에게 ${formatDuration(longestDelayMs)} 동안 기다리라고 합니다. 그 뒤편에서는 한 시간이 정말 한 시간입니다.`,
    ],
    notice: () => '11:00:00의 그림을 비교해 보세요. 누가 가득 차 있고, 누가 비어 있고, 누구에게 줄이 있나요?',
  },
  memory: {
    title: '로그가 기억하는 것',
    text: ({ limit, users, entries, logBytes, counterBytes }) => [
      `정확하려면 로그는 통과시킨 요청의 시각을 모두 간직해야 합니다. 여기서는 제한 ${limit}에 대해 ${entries}개입니다. 카운터는 제한이 얼마든 숫자 네 개면 됩니다.`,
      `사용자가 ${formatCount(users)}명이면 Redis에서 대략 ${formatBytes(logBytes)} 대 ${formatBytes(counterBytes)}입니다. 제한이 10이면 아무도 모르지만, 10,000이면 이것이 선택을 가릅니다.`,
    ],
    notice: () => '재생해 보세요. 점은 하나씩 밀려 나가고, 두 상자는 높이만 바뀝니다.',
  },
  estimate: {
    title: '카운터가 틀리는 곳',
    text: ({ limit, worst, log, tooEarly, even, fraction }) => [
      `카운터는 이전 윈도우를, 아직 겹쳐 있는 비율만큼만 셉니다. 지난 시간에 80건, 이번 시간에 40건이고 절반이 지났다면 80 × 0.5 + 40 = ${even}입니다. 8건과 3건이고 10분의 1이 지났다면 8 × 0.9 + 3 = ${fraction}이니 제한 10은 가득 찼습니다. 이전 윈도우를 고르게 썼다면 맞는 계산입니다.`,
      `여기서는 고르지 않았습니다. ${limit}건이 한 윈도우의 맨 끝에, 또 ${limit}건이 다음 윈도우의 끝 무렵에 왔습니다. 카운터는 앞의 요청이 이미 흐려졌다고 믿고 1분 안에 ${worst}건을 들여보냅니다. 제한의 두 배이고, 이보다 나쁠 수는 없습니다. 로그는 ${log}건만 허용합니다. 반대로 너무 엄할 때도 있습니다. 윈도우 첫머리에 온 ${limit}건은, 로그가 벌써 잊은 다음 윈도우 한가운데에서도 아직 ${tooEarly}건으로 남아 있습니다.`,
    ],
    notice: () => '10:02:00 직전에 멈춰 보세요. 왼쪽 상자의 진한 부분이 카운터가 아직 보고 있는 몫입니다.',
  },
  'lazy-refill': {
    title: '게으른 충전',
    text: ({ taken, left, seconds, justBefore, whenAsked, users, timerWrites }) => [
      `토큰 100개짜리 버킷에 매초 10개가 찹니다. ${taken}개를 쓰고 ${left}개가 남았습니다. 그 뒤 ${seconds}초 동안 아무도 묻지 않으면 정말로 아무 일도 일어나지 않습니다. 타이머도 없고, 쓰기도 없습니다.`,
      `다음 요청이 오면 버킷은 그동안의 몫을 한 번에 계산합니다. ${left} + ${seconds} × 10 = ${whenAsked}. 1마이크로초만 일렀어도 ${justBefore}개였을 것입니다. 타이머로 버킷 ${formatCount(users)}개를 채웠다면 그 사이 ${formatCount(timerWrites)}번을 썼을 것입니다.`,
    ],
    notice: () => '두 묶음 사이에서 올라가는 선은 어디에도 저장되지 않습니다. 저장되는 것은 양 끝뿐입니다.',
  },
  'token-or-leaky': {
    title: '토큰과 리키, 한 줄 차이',
    text: ({ requests, token, different, tokenDelayMs, leakyDelayMs }) => [
      `하나는 남은 것을 세고, 하나는 담긴 것을 셉니다. 요청이 통과할 때 하나는 빼고(level − cost), 하나는 더합니다(level + cost). 숫자가 같으면 둘은 똑같은 요청에 똑같이 답합니다. ${requests}건 중 ${token}건이 통과하고, 의견이 갈린 요청은 ${different}건입니다.`,
      `차이는 허용된 다음에 있습니다. 토큰 버킷은 몰려온 요청을 바로 보냅니다(가장 긴 대기 ${formatDuration(tokenDelayMs)}). 리키 버킷은 고르게 나가도록 요청마다 얼마나 붙잡아 둘지 알려 줍니다. 길게는 ${formatDuration(leakyDelayMs)}입니다.`,
    ],
    notice: () => '두 그림은 서로를 뒤집은 모양입니다. 몰려오는 순간을 한 요청씩 넘겨 보세요.',
  },
  'lost-half': {
    title: '반 건을 잃어버린 누수',
    text: ({ perSecond, naive, ours, naiveInHalfMinute, oursInHalfMinute }) => [
      `가득 찬 버킷이 초당 ${perSecond}건씩 새고, 누군가 3초마다 들여다봅니다. 1.5건이 샜지만, 정수로만 세는 버킷은 1건을 빼고 시계를 다시 맞춥니다. 볼 때마다 반 건이 사라집니다. 6초 뒤에는 ${ours}건이 아니라 ${naive}건, 30초 뒤에는 ${oursInHalfMinute}건이 아니라 ${naiveInHalfMinute}건만 샌 셈입니다. 자주 볼수록 느리게 샙니다.`,
      'Tidegate는 수위를 아주 작은 단위의 정수로 간직합니다. 아무리 자주 들여다봐도 달라지는 것이 없습니다.',
    ],
    notice: () => '윗줄에서는 쌍마다 하나를 잃습니다. 아랫줄에서는 두 번에 한 번 쌍이 온전히 통과합니다.',
  },
  'same-microsecond': {
    title: '같은 마이크로초의 두 요청',
    text: ({ limit, requests, naive, naiveRemembers, ours, oursRemembers }) => [
      `요청 ${requests}건이 같은 마이크로초에 도착하고 제한은 ${limit}건입니다. 시각의 집합만 간직하는 로그는 같은 시각을 거듭 덮어씁니다. ${naiveRemembers}건만 기억하고, 자리가 있다고 믿고, ${naive}건을 모두 들여보냅니다. 공격자가 애쓸 것도 없이 묶음 한 번이면 됩니다.`,
      `Tidegate는 순간마다 몇 건이었는지를 셉니다. ${ours}건을 허용하고 ${oursRemembers}건을 기억합니다.`,
    ],
    notice: () => '두 로그의 점을 세어 보세요.',
  },
}
