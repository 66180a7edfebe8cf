import {
  fixedWindow,
  leakyBucket,
  type Policy,
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
 * Eight stories, each a scenario and the numbers its text speaks of. No number is written down here that
 * could be worked out: the texts get what the core came to.
 */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const at = (time: string) => Date.parse(`2030-01-01T${time}Z`)

/** A burst on each side of the hour. */
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

/** All of an hour's requests in one moment, an hour of nothing, and all of the next hour's. */
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

/** What the log has to remember, and what the counter does. */
function memory() {
  const limit = 100
  const users = 10_000
  const scenario: Scenario = {
    originMs: at('09:00:00'),
    spanMs: 3 * HOUR,
    // When the last has come: an hour later there is nothing left to see.
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

/** The counter believes that the window before was used evenly. */
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
  // The other way round: all at the start of a minute, looked at when the log has forgotten them.
  const early = simulate(policy, scenario.originMs, repeat(0, limit)).stateAt(1.5 * MINUTE)
  return {
    scenario,
    lanes,
    facts: {
      limit,
      worst: worstWindow(runOf(lanes, 'sliding-window-counter').admittedMs, MINUTE).count,
      log: worstWindow(runOf(lanes, 'sliding-window-log').admittedMs, MINUTE).count,
      tooEarly: early.kind === 'sliding-window-counter' ? early.used : 0,
      even: weighted(slidingWindowCounter({ limit: 100, window: '1h' }), 80, 1.5 * HOUR, 40),
      fraction: weighted(slidingWindowCounter({ limit: 10, window: '1m' }), 8, 1.1 * MINUTE, 3),
    },
  }
}

/** Nobody fills the bucket: what has come in is worked out by whoever asks. */
function lazyRefill() {
  const policy = tokenBucket({ capacity: 100, refillRate: 10 })
  const asked = 6 * SECOND
  const scenario: Scenario = {
    originMs: at('09:59:59'),
    spanMs: 10 * SECOND,
    windowMs: 10 * SECOND,
    limit: undefined,
    axis: 'clock',
    arrivals: [...repeat(SECOND, 50), ...repeat(asked, 100)],
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
      seconds: (asked - SECOND) / SECOND,
      justBefore: Math.floor(tokens(asked - 0.001)),
      // What there was when the second burst came is what it was given.
      whenAsked: admittedMs.length - countUpTo(admittedMs, SECOND),
      users,
      timerWrites: (users * (asked - SECOND)) / SECOND,
    },
  }
}

/** The same numbers, the same yes and no; only one of them makes you wait. */
function tokenAgainstLeaky() {
  const scenario: Scenario = {
    originMs: at('10:00:00'),
    spanMs: 24 * SECOND,
    windowMs: 10 * SECOND,
    limit: undefined,
    axis: 'clock',
    // Ten moments near each other rather than one: each is a step of the clock.
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

/** A leak that drops the half of a request at every look. */
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
      ours: leakedIn('leaky-bucket', 6 * SECOND),
      naiveInHalfMinute: leakedIn('naive', 30 * SECOND),
      oursInHalfMinute: leakedIn('leaky-bucket', 30 * SECOND),
    },
  }
}

/** A log that knows moments, not requests. */
function sameMicrosecond() {
  const limit = 2
  const scenario: Scenario = {
    originMs: at('10:00:00'),
    spanMs: 2 * SECOND,
    // Long before the logs have forgotten.
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
  const remembered = (id: string) => {
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
      naiveRemembers: remembered('naive'),
      ours: runOf(lanes, 'sliding-window-log').admittedMs.length,
      oursRemembers: remembered('sliding-window-log'),
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

function fivePolicies(limit: number, window: '1h'): Policy[] {
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
  if (lane === undefined) throw new Error(`the story has no ${id}`)
  return lane.run
}

/** The counter's estimate with its fraction, after `before` in one window and `now` at a time of the next. */
function weighted(policy: Policy, before: number, time: number, now: number): number {
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
