import type { FactsOf, StoryId } from '../simulation/stories.js'
import { formatBytes, formatCount, formatsFor } from './format.js'

const { duration } = formatsFor('en')

/** The text of a story. The numbers come from the run shown below the text. */
export type StoryTexts = {
  readonly [K in StoryId]: {
    readonly title: string
    /** Paragraphs. */
    readonly text: (facts: FactsOf<K>) => readonly string[]
    /** A hint: where to move the clock and what to look at. */
    readonly hint: (facts: FactsOf<K>) => string
  }
}

export const enStories: StoryTexts = {
  boundary: {
    title: 'The window boundary',
    text: ({ limit, seconds, fixed, log, counter, token, leaky }) => [
      `The limit is ${limit} an hour. A client sends ${limit} requests in the last ten seconds before ten o'clock and another ${limit} in the first ten seconds after. The fixed window counts them in two different hours, each within its limit: it allows ${fixed} in ${seconds} seconds.`,
      `The log looks back a full hour from every request and stops at ${log}. The counter still counts almost all of the previous hour and stops at ${counter}. The buckets have no windows: token bucket ${token}, leaky bucket ${leaky}.`,
    ],
    hint: () => 'Drag the clock across 10:00:00: the count of the fixed window drops to zero at once.',
  },
  'idle-hour': {
    title: 'The idle hour',
    text: ({ limit, fixed, counter, leaky, longestDelayMs }) => [
      `${limit} requests at one moment, an hour of silence, then ${limit} at one moment again. Nothing is broken here, and still no "${limit} an hour" limiter spreads them over the hour: the fixed window allows all ${fixed} of the second burst at once, and so do the log and the token bucket. Unused quota is not saved up, and allowed requests are not spread out.`,
      `The other two behave differently. At exactly eleven the counter still gives the previous hour its full weight and allows ${counter === 0 ? 'none' : counter}. The leaky bucket accepts ${leaky}, but delays the last of them by ${duration(longestDelayMs)}: downstream, they really do take an hour.`,
    ],
    hint: () => 'Compare the pictures at 11:00:00: which are full, which are empty, and which has a queue.',
  },
  memory: {
    title: 'What the log stores',
    text: ({ limit, users, entries, logBytes, counterBytes }) => [
      `To be exact, the log stores the time of every allowed request: ${entries} entries here, one for each unit of the limit of ${limit}. The counter stores four numbers, whatever the limit.`,
      `For ${formatCount(users)} users that is about ${formatBytes(logBytes)} in Redis against ${formatBytes(counterBytes)}. At a limit of ten the difference is negligible; at a limit of ten thousand it decides.`,
    ],
    hint: () => 'Press play: the dots leave one by one, while the two boxes only change their height.',
  },
  estimate: {
    title: 'Where the counter is wrong',
    text: ({ limit, worst, log, tooEarly, even, fraction }) => [
      `The counter weights the previous window by the share that still overlaps. With 80 in the last hour and 40 in this one, halfway through, the estimate is 80 × 0.5 + 40 = ${even}. With 8 and 3, a tenth of the way through, the estimate is 8 × 0.9 + 3 = ${fraction}. Tidegate rounds the share down (7 + 3 = 10), and a limit of 10 is reached. This is right if the previous window was used evenly.`,
      `Here it was not. ${limit} requests arrived at the very end of one minute, and ${limit} near the end of the next. The counter assumes that most of the first ones are gone and allows ${worst} within one minute: twice the limit, which is the worst case. The log allows ${log}. In the other direction the counter is too strict: ${limit} requests at the start of a minute still count as ${tooEarly} in the middle of the next, long after they left the log.`,
    ],
    hint: () => 'Stop just before 10:02:00. The darker part of the left box is the part that still counts.',
  },
  'lazy-refill': {
    title: 'The lazy refill',
    text: ({ taken, left, seconds, justBefore, atNextCheck, users, timerWrites }) => [
      `A bucket of 100 tokens, refilled with ten tokens a second. ${taken} are taken and ${left} are left. Then no request comes for ${seconds} seconds, and nothing happens at all: no timer runs and nothing is written.`,
      `On the next request, the bucket computes the missing refill: ${left} + ${seconds} × 10 = ${atNextCheck}. One microsecond earlier it would have been ${justBefore}. A timer that refills ${formatCount(users)} buckets every second would have made ${formatCount(timerWrites)} writes by then.`,
    ],
    hint: () => 'The rising line between the two bursts is never stored: only its two ends are.',
  },
  'token-or-leaky': {
    title: 'Token or leaky: one line of code',
    text: ({ requests, token, different, tokenDelayMs, leakyDelayMs }) => [
      `The token bucket counts tokens left, the leaky bucket counts requests queued. An allowed request subtracts from one (level − cost) and adds to the other (level + cost). With the same numbers they allow the very same requests: ${token} of ${requests}, with ${different} disagreements.`,
      `The difference is the timing of an allowed request. The token bucket releases a burst at once (longest delay: ${duration(tokenDelayMs)}). The leaky bucket returns a delay for each request, up to ${duration(leakyDelayMs)}, so that they leave at an even pace.`,
    ],
    hint: () => 'One picture is the other upside down. Step through the burst to see it.',
  },
  'lost-half': {
    title: 'The leak that lost half a request',
    text: ({ perSecond, naive, tidegate, naiveInHalfMinute, tidegateInHalfMinute }) => [
      `A full bucket leaks ${perSecond} a second and is checked every three seconds. By then one and a half requests have leaked; a bucket that counts whole requests subtracts one and restarts its clock. Half a request is lost at every check. After six seconds it has leaked ${naive} instead of ${tidegate}, after half a minute ${naiveInHalfMinute} instead of ${tidegateInHalfMinute}: the more often you check, the slower it leaks.`,
      'Tidegate stores the level as a whole number of very small parts. Checking changes nothing, however often you do it.',
    ],
    hint: () =>
      'In the upper row one request of every pair is denied. In the lower row every second pair is allowed in full.',
  },
  'same-microsecond': {
    title: 'Two in the same microsecond',
    text: ({ limit, requests, naive, naiveStored, tidegate, tidegateStored }) => [
      `${requests} requests arrive in the same microsecond, and the limit is ${limit}. A log that stores a set of timestamps overwrites the same entry again and again: it stores ${naiveStored}, sees free capacity, and allows ${naive}. This takes no attacker; one batch is enough.`,
      `Tidegate counts the units at each timestamp. It allows ${tidegate} and stores ${tidegateStored}.`,
    ],
    hint: () => 'Count the dots in the two logs.',
  },
}
