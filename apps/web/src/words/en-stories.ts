import { formatBytes, formatCount, formatDuration } from '../format.js'
import type { FactsOf, StoryId } from '../lab/stories.js'

/** A story's text. Its numbers come from the run that is drawn below it. */
export type StoryTexts = {
  readonly [K in StoryId]: {
    readonly title: string
    /** Paragraphs. */
    readonly text: (facts: FactsOf<K>) => readonly string[]
    /** What to do with the clock, and what to see. */
    readonly notice: (facts: FactsOf<K>) => string
  }
}

export const enStories: StoryTexts = {
  boundary: {
    title: 'The boundary',
    text: ({ limit, seconds, fixed, log, counter, token, leaky }) => [
      `The rule is ${limit} an hour. Somebody sends ${limit} in the last ten seconds before ten o'clock, and ${limit} in the first ten seconds after it. To the fixed window these are two hours, each within its limit: it lets ${fixed} through in ${seconds} seconds.`,
      `The log looks back a whole hour from every request and stops at ${log}. The counter still counts nearly all of the old hour and stops at ${counter}. The buckets know no hours at all: ${token} and ${leaky}.`,
    ],
    notice: () => 'Drag the clock over 10:00:00 and watch the fixed window forget everything at once.',
  },
  'idle-hour': {
    title: 'The idle hour',
    text: ({ limit, fixed, counter, leaky, longestDelayMs }) => [
      `${limit} requests in one moment, an hour of silence, and ${limit} in one moment again. Nothing is broken here, and still no limiter of "${limit} an hour" makes an hour out of it: the fixed window lets all ${fixed} of the second burst in at once, and so do the log and the token bucket. What was not used is not saved up, and what is allowed is not spread out.`,
      `Two behave differently. At exactly eleven the counter still gives the hour before its full weight and admits ${counter}. The leaky bucket takes in ${leaky}, but tells the last of them to wait ${formatDuration(longestDelayMs)}: behind it, the hour really is one.`,
    ],
    notice: () => 'Compare the pictures at 11:00:00: who is full, who is empty, and who has a queue.',
  },
  memory: {
    title: 'What the log remembers',
    text: ({ limit, users, entries, logBytes, counterBytes }) => [
      `To be exact, the log keeps the time of every request it let in: ${entries} of them here, one for each unit of the limit of ${limit}. The counter keeps four numbers, whatever the limit.`,
      `For ${formatCount(users)} users that is about ${formatBytes(logBytes)} in Redis against ${formatBytes(counterBytes)}. At a limit of ten nobody notices; at a limit of ten thousand it decides.`,
    ],
    notice: () => 'Play it: the dots slide out one by one, while the two boxes only change their height.',
  },
  estimate: {
    title: 'Where the counter is wrong',
    text: ({ limit, worst, log, tooEarly, even, fraction }) => [
      `The counter weighs the window before by the share of it that still lies within reach. With 80 in the last hour and 40 in this one, half way through, it counts 80 × 0.5 + 40 = ${even}. With 8 and 3, a tenth of the way, 8 × 0.9 + 3 = ${fraction}, and a limit of 10 is full. That is right if the window before was used evenly.`,
      `Here it was not. ${limit} came at the very end of one minute, and ${limit} near the end of the next. The counter believes that the first ones have faded, and lets ${worst} into one minute: twice the limit, and that is the worst there is. The log admits ${log}. The other way round it is too strict: ${limit} at the start of a minute still count as ${tooEarly} at the middle of the next, when the log has long forgotten them.`,
    ],
    notice: () =>
      'Stop just before 10:02:00. The strong part of the left box is what the counter still sees.',
  },
  'lazy-refill': {
    title: 'The lazy refill',
    text: ({ taken, left, seconds, justBefore, whenAsked, users, timerWrites }) => [
      `A bucket of 100 tokens, ten more every second. ${taken} are taken and ${left} are left. Then nobody asks for ${seconds} seconds, and nothing happens at all: no timer runs and nothing is written.`,
      `When the next request comes, the bucket works out what it has missed: ${left} + ${seconds} × 10 = ${whenAsked}. One microsecond earlier it would have been ${justBefore}. A timer that tops up ${formatCount(users)} buckets would have written ${formatCount(timerWrites)} times by then.`,
    ],
    notice: () =>
      'The line that rises between the two bursts is never stored anywhere: only its two ends are.',
  },
  'token-or-leaky': {
    title: 'Token or leaky: one line',
    text: ({ requests, token, different, tokenDelayMs, leakyDelayMs }) => [
      `One counts what is left, the other what is in it. One takes away when a request passes (level − cost), the other adds (level + cost). With the same numbers they say yes and no to the very same requests: ${token} of ${requests} pass, and on ${different} they disagree.`,
      `The difference is what happens to a yes. The token bucket lets a burst go at once (longest wait: ${formatDuration(tokenDelayMs)}). The leaky bucket says how long to hold each request so that they leave evenly: up to ${formatDuration(leakyDelayMs)}.`,
    ],
    notice: () => 'The two pictures are each other turned upside down. Step through the burst to see it.',
  },
  'lost-half': {
    title: 'The leak that lost half a request',
    text: ({ perSecond, naive, ours, naiveInHalfMinute, oursInHalfMinute }) => [
      `A full bucket leaks ${perSecond} a second, and somebody looks every three seconds. One and a half have leaked; a bucket that counts whole requests takes off one, and starts its clock again. The half is lost, at every look. After six seconds it has leaked ${naive} instead of ${ours}, after half a minute ${naiveInHalfMinute} instead of ${oursInHalfMinute}: who looks often makes it leak slowly.`,
      'Tidegate keeps the level as a whole number of very small parts. Looking changes nothing, however often you do it.',
    ],
    notice: () => 'In the upper row every pair loses one. In the lower row every second pair passes whole.',
  },
  'same-microsecond': {
    title: 'Two in the same microsecond',
    text: ({ limit, requests, naive, naiveRemembers, ours, oursRemembers }) => [
      `${requests} requests arrive in the same microsecond, the limit is ${limit}. A log that keeps a set of times writes the same time again and again: it remembers ${naiveRemembers}, believes there is room, and admits ${naive}. Attackers do not even have to try; one batch is enough.`,
      `Tidegate counts the units of each moment. It admits ${ours} and remembers ${oursRemembers}.`,
    ],
    notice: () => 'Count the dots in the two logs.',
  },
}
