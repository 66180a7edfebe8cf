import {
  fixedWindow,
  leakyBucket,
  type RatePolicy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@tidegate/core'
import { memoryFor } from './memory.js'
import { naiveLeakyBucket, naiveLog } from './naive.js'
import { type Lane, lanesOf, type Scenario } from './scenario.js'
import { type Run, simulate } from './simulate.js'
import { countUpTo, worstWindow } from './times.js'

/*
 * Eight stories: a scenario each, and the numbers for its text. The numbers are computed by the core.
 */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const at = (time: string) => Date.parse(`2030-01-01T${time}Z`)

/** A burst on each side of a window boundary. */
function boundary() {
  const limit = 100
  const scenario: Scenario = {
    originMs: at('09:59:40'),
    spanMs: 40 * SECOND,
    windowMs: HOUR,
    limit,
    axis: 'clock',
    arrivals: [...spread(10 * SECOND, 10 * SECOND, limit), ...spread(20 * SECOND, 10 * SECOND, limit)],
    policies: fivePolicies(limit, '1h'),
  }
  const lanes = lanesOf(scenario)
  const admitted = runOf(lanes, 'fixed-window').admittedMs
  return {
    scenario,
    lanes,
    facts: {
      limit,
      seconds: Math.round((admitted.at(-1)! - admitted[0]!) / SECOND),
      fixed: admitted.length,
      log: runOf(lanes, 'sliding-window-log').admittedMs.length,
      counter: runOf(lanes, 'sliding-window-counter').admittedMs.length,
      token: runOf(lanes, 'token-bucket').admittedMs.length,
      leaky: runOf(lanes, 'leaky-bucket').admittedMs.length,
    },
  }
}

/** An hour's limit at one moment, an hour of silence, and the same again. */
function idleHour() {
  const limit = 100
  const first = 10 * MINUTE
  const second = first + HOUR
  const scenario: Scenario = {
    originMs: at('09:50:00'),
    spanMs: 90 * MINUTE,
    opensAtMs: second,
    windowMs: HOUR,
    limit,
    axis: 'clock',
    arrivals: [...repeat(first, limit), ...repeat(second, limit)],
    policies: fivePolicies(limit, '1h'),
  }
  const lanes = lanesOf(scenario)
  const secondBurst = (id: string) => {
    const { admittedMs } = runOf(lanes, id)
    return admittedMs.length - countUpTo(admittedMs, second - 1)
  }
  return {
    scenario,
    lanes,
    facts: {
      limit,
      fixed: secondBurst('fixed-window'),
      log: secondBurst('sliding-window-log'),
      counter: secondBurst('sliding-window-counter'),
      token: secondBurst('token-bucket'),
      leaky: secondBurst('leaky-bucket'),
      longestDelayMs: Math.max(...runOf(lanes, 'leaky-bucket').delayMs),
    },
  }
}

/** Memory of the log compared with the counter. */
function memory() {
  const limit = 100
  const users = 10_000
  const scenario: Scenario = {
    originMs: at('09:00:00'),
    spanMs: 3 * HOUR,
    // The time of the last request; an hour later the log is empty.
    opensAtMs: 2 * HOUR,
    windowMs: HOUR,
    limit,
    axis: 'clock',
    arrivals: spread(0, 2 * HOUR, 2 * limit),
    policies: [slidingWindowLog({ limit, window: '1h' }), slidingWindowCounter({ limit, window: '1h' })],
  }
  const lanes = lanesOf(scenario)
  const full = runOf(lanes, 'sliding-window-log').stateAt(2 * HOUR - 1)
  return {
    scenario,
    lanes,
    facts: {
      limit,
      users,
      entries: full.kind === 'sliding-window-log' ? full.ages.length : 0,
      logBytes: memoryFor('sliding-window-log', limit, users).redisBytes,
      counterBytes: memoryFor('sliding-window-counter', limit, users).redisBytes,
    },
  }
}

/** The counter assumes that the previous window was used evenly. */
function estimate() {
  const limit = 100
  const policy = slidingWindowCounter({ limit, window: '1m' })
  const scenario: Scenario = {
    originMs: at('10:00:00'),
    spanMs: 3 * MINUTE,
    opensAtMs: 2 * MINUTE - 100,
    windowMs: MINUTE,
    limit,
    axis: 'clock',
    arrivals: [...repeat(MINUTE - 100, limit), ...repeat(2 * MINUTE - 200, limit)],
    policies: [slidingWindowLog({ limit, window: '1m' }), policy],
  }
  const lanes = lanesOf(scenario)
  // The opposite error: requests at the start of a minute still count after they left the log.
  const early = simulate(policy, scenario.originMs, repeat(0, limit)).stateAt(1.5 * MINUTE)
  return {
    scenario,
    lanes,
    facts: {
      limit,
      worst: worstWindow(runOf(lanes, 'sliding-window-counter').admittedMs, MINUTE),
      log: worstWindow(runOf(lanes, 'sliding-window-log').admittedMs, MINUTE),
      tooEarly: early.kind === 'sliding-window-counter' ? early.used : 0,
      even: weighted(slidingWindowCounter({ limit: 100, window: '1h' }), 80, 1.5 * HOUR, 40),
      fraction: weighted(slidingWindowCounter({ limit: 10, window: '1m' }), 8, 1.1 * MINUTE, 3),
    },
  }
}

/** No timer refills the bucket: each check computes the refill. */
function lazyRefill() {
  const policy = tokenBucket({ capacity: 100, refillRate: 10 })
  const nextCheck = 6 * SECOND
  const scenario: Scenario = {
    originMs: at('09:59:59'),
    spanMs: 10 * SECOND,
    windowMs: 10 * SECOND,
    limit: undefined,
    axis: 'clock',
    arrivals: [...repeat(SECOND, 50), ...repeat(nextCheck, 100)],
    policies: [policy],
  }
  const lanes = lanesOf(scenario)
  const { stateAt, admittedMs } = runOf(lanes, 'token-bucket')
  const tokens = (time: number) => {
    const state = stateAt(time)
    return state.kind === 'token-bucket' ? state.tokens : 0
  }
  const users = 1_000_000
  return {
    scenario,
    lanes,
    facts: {
      taken: countUpTo(admittedMs, SECOND),
      left: tokens(SECOND),
      seconds: (nextCheck - SECOND) / SECOND,
      justBefore: Math.floor(tokens(nextCheck - 0.001)),
      // The second burst takes all tokens, so the allowed requests are the tokens at that time.
      atNextCheck: admittedMs.length - countUpTo(admittedMs, SECOND),
      users,
      timerWrites: (users * (nextCheck - SECOND)) / SECOND,
    },
  }
}

/** The same numbers and the same decisions; only the leaky bucket returns delays. */
function tokenAgainstLeaky() {
  const scenario: Scenario = {
    originMs: at('10:00:00'),
    spanMs: 24 * SECOND,
    windowMs: 10 * SECOND,
    limit: undefined,
    axis: 'clock',
    // Ten times close together instead of one, so that the clock can step through the burst.
    arrivals: [...spread(2 * SECOND, 200, 10), ...spread(4 * SECOND, 12 * SECOND, 18)],
    policies: [tokenBucket({ capacity: 10, refillRate: 1 }), leakyBucket({ capacity: 10, leakRate: 1 })],
  }
  const lanes = lanesOf(scenario)
  const token = runOf(lanes, 'token-bucket')
  const leaky = runOf(lanes, 'leaky-bucket')
  return {
    scenario,
    lanes,
    facts: {
      requests: scenario.arrivals.length,
      token: token.admittedMs.length,
      leaky: leaky.admittedMs.length,
      different: token.allowed.filter((allowed, i) => allowed !== leaky.allowed[i]).length,
      tokenDelayMs: Math.max(...token.delayMs),
      leakyDelayMs: Math.max(...leaky.delayMs),
    },
  }
}

/** A leak that drops half a request at every check. */
function lostHalf() {
  const capacity = 10
  const perSecond = 0.5
  const pairs = Array.from({ length: 11 }, (_, i) => (i + 1) * 3 * SECOND)
  const scenario: Scenario = {
    originMs: at('10:00:00'),
    spanMs: 36 * SECOND,
    windowMs: 6 * SECOND,
    limit: undefined,
    axis: 'clock',
    arrivals: [...repeat(0, capacity), ...pairs.flatMap((time) => repeat(time, 2))],
    policies: [leakyBucket({ capacity, leakRate: perSecond })],
  }
  const naive: Lane = {
    id: 'naive',
    kind: 'leaky-bucket',
    isNaive: true,
    run: naiveLeakyBucket(scenario.arrivals, capacity, perSecond),
  }
  const lanes = [naive, ...lanesOf(scenario)]
  const leakedIn = (id: string, ms: number) => countUpTo(runOf(lanes, id).admittedMs, ms) - capacity
  return {
    scenario,
    lanes,
    facts: {
      perSecond,
      naive: leakedIn('naive', 6 * SECOND),
      tidegate: leakedIn('leaky-bucket', 6 * SECOND),
      naiveInHalfMinute: leakedIn('naive', 30 * SECOND),
      tidegateInHalfMinute: leakedIn('leaky-bucket', 30 * SECOND),
    },
  }
}

/** A log that stores timestamps instead of requests. */
function sameMicrosecond() {
  const limit = 2
  const scenario: Scenario = {
    originMs: at('10:00:00'),
    spanMs: 2 * SECOND,
    // While the entries are still in the logs.
    opensAtMs: 600,
    windowMs: SECOND,
    limit,
    axis: 'clock',
    arrivals: repeat(500.001, 5),
    policies: [slidingWindowLog({ limit, window: '1s' })],
  }
  const naive: Lane = {
    id: 'naive',
    kind: 'sliding-window-log',
    isNaive: true,
    run: naiveLog(scenario.arrivals, limit, SECOND),
  }
  const lanes = [naive, ...lanesOf(scenario)]
  const stored = (id: string) => {
    const state = runOf(lanes, id).stateAt(SECOND)
    return state.kind === 'sliding-window-log' ? state.count : 0
  }
  return {
    scenario,
    lanes,
    facts: {
      limit,
      requests: scenario.arrivals.length,
      naive: runOf(lanes, 'naive').admittedMs.length,
      naiveStored: stored('naive'),
      tidegate: runOf(lanes, 'sliding-window-log').admittedMs.length,
      tidegateStored: stored('sliding-window-log'),
    },
  }
}

export const STORIES = {
  boundary,
  'idle-hour': idleHour,
  memory,
  estimate,
  'lazy-refill': lazyRefill,
  'token-or-leaky': tokenAgainstLeaky,
  'lost-half': lostHalf,
  'same-microsecond': sameMicrosecond,
}

export type StoryId = keyof typeof STORIES
export type FactsOf<K extends StoryId> = ReturnType<(typeof STORIES)[K]>['facts']
export const STORY_IDS = Object.keys(STORIES) as StoryId[]

function fivePolicies(limit: number, window: '1h'): RatePolicy[] {
  return [
    fixedWindow({ limit, window }),
    slidingWindowLog({ limit, window }),
    slidingWindowCounter({ limit, window }),
    tokenBucket({ capacity: limit, refillRate: `${limit}/${window}` }),
    leakyBucket({ capacity: limit, leakRate: `${limit}/${window}` }),
  ]
}

function runOf(lanes: readonly Lane[], id: string): Run {
  const lane = lanes.find((each) => each.id === id)
  if (lane === undefined) throw new Error(`The story has no lane ${id}`)
  return lane.run
}

/** The counter's estimate before rounding, after `before` requests in one window and `now` at `time` in the next. */
function weighted(policy: RatePolicy, before: number, time: number, now: number): number {
  const run = simulate(policy, at('10:00:00'), [...repeat(0, before), ...repeat(time, now)])
  const state = run.stateAt(time)
  if (state.kind !== 'sliding-window-counter') return 0
  return Number((state.prev * (1 - state.elapsed) + state.curr).toFixed(6))
}

function repeat(time: number, count: number): number[] {
  return new Array<number>(count).fill(time)
}

function spread(from: number, length: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + ((i + 0.5) * length) / count)
}
