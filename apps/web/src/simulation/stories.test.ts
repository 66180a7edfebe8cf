import { expect, it } from 'vitest'
import { STORIES, STORY_IDS } from './stories.js'

it('boundary: a fixed window of 100 allows 200 in 20 seconds, the log 100, the counter 101', () => {
  expect(STORIES.boundary().facts).toStrictEqual({
    limit: 100,
    seconds: 20,
    fixed: 200,
    log: 100,
    counter: 101,
    token: 100,
    leaky: 100,
  })
})

it('idle hour: all algorithms allow the second burst at once, except the counter', () => {
  expect(STORIES['idle-hour']().facts).toStrictEqual({
    limit: 100,
    fixed: 100,
    log: 100,
    counter: 0,
    token: 100,
    leaky: 100,
    longestDelayMs: 99 * 36_000,
  })
})

it('memory: the log stores 100 timestamps and needs over 8 times the memory of the counter', () => {
  const { facts } = STORIES.memory()
  expect(facts).toMatchObject({ limit: 100, users: 10_000, entries: 100 })
  expect(facts.logBytes).toBeGreaterThan(8 * facts.counterBytes)
})

it('estimate: 80 and 10.2 as in the text, and twice the limit in the worst case', () => {
  expect(STORIES.estimate().facts).toStrictEqual({
    limit: 100,
    worst: 200,
    log: 100,
    tooEarly: 50,
    even: 80,
    fraction: 10.2,
  })
})

it('lazy refill: 50 tokens and 5 seconds at 10 a second make 100, a microsecond earlier 99', () => {
  expect(STORIES['lazy-refill']().facts).toStrictEqual({
    taken: 50,
    left: 50,
    seconds: 5,
    justBefore: 99,
    atNextCheck: 100,
    users: 1_000_000,
    timerWrites: 5_000_000,
  })
})

it('token or leaky: both allow the same requests, and only the leaky bucket delays them', () => {
  const { facts } = STORIES['token-or-leaky']()
  expect(facts.token).toBe(facts.leaky)
  expect(facts.token).toBeLessThan(facts.requests)
  expect(facts).toMatchObject({ requests: 28, different: 0, tokenDelayMs: 0 })
  expect(facts.leakyDelayMs).toBeGreaterThanOrEqual(8000)
})

it('token or leaky: each of ten steps fills one bucket as it empties the other', () => {
  const { scenario, lanes } = STORIES['token-or-leaky']()
  const burst = scenario.arrivals.filter((time) => time < 3000)
  expect(new Set(burst).size).toBe(10)
  for (const time of burst) {
    const [token, leaky] = lanes.map(({ run }) => run.stateAt(time))
    if (token?.kind !== 'token-bucket' || leaky?.kind !== 'leaky-bucket') throw new Error('unexpected lanes')
    expect(token.tokens + leaky.level).toBeCloseTo(10, 3)
  }
})

it('lost half: at 0.5 a second 3 leak in 6 seconds, or 2 with rounding at every check', () => {
  expect(STORIES['lost-half']().facts).toStrictEqual({
    perSecond: 0.5,
    naive: 2,
    tidegate: 3,
    naiveInHalfMinute: 10,
    tidegateInHalfMinute: 15,
  })
})

it('same microsecond: the core counts five requests, a set of timestamps one', () => {
  expect(STORIES['same-microsecond']().facts).toStrictEqual({
    limit: 2,
    requests: 5,
    naive: 5,
    naiveStored: 1,
    tidegate: 2,
    tidegateStored: 2,
  })
})

it.each(STORY_IDS)('%s: arrivals are in order and within the axis', (id) => {
  const { scenario } = STORIES[id]()
  expect(scenario.arrivals).toStrictEqual(scenario.arrivals.toSorted((a, b) => a - b))
  expect(scenario.arrivals.at(-1)).toBeLessThan(scenario.spanMs)
})
