import { expect, it } from 'vitest'
import { STORIES, STORY_IDS } from './stories.js'

it('the boundary: a fixed window of 100 lets 200 through in 20 seconds, the log 100, the counter 101', () => {
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

it('the idle hour: all come through again at once, but for the counter, to which the hour is still full', () => {
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

it('the memory: the log keeps a time for each of 100, and takes many times what the counter takes', () => {
  const { facts } = STORIES.memory()
  expect(facts).toMatchObject({ limit: 100, users: 10_000, entries: 100 })
  expect(facts.logBytes).toBeGreaterThan(8 * facts.counterBytes)
})

it('the estimate: 80 and 10.2 as the texts work it out, and at worst twice the limit', () => {
  expect(STORIES.estimate().facts).toStrictEqual({
    limit: 100,
    worst: 200,
    log: 100,
    tooEarly: 50,
    even: 80,
    fraction: 10.2,
  })
})

it('the lazy refill: 50 tokens and 5 seconds at 10 a second are 100, and a microsecond before 99', () => {
  expect(STORIES['lazy-refill']().facts).toStrictEqual({
    taken: 50,
    left: 50,
    seconds: 5,
    justBefore: 99,
    whenAsked: 100,
    users: 1_000_000,
    timerWrites: 5_000_000,
  })
})

it('token and leaky: the same requests pass, and only the leaky bucket makes them wait', () => {
  const { facts } = STORIES['token-or-leaky']()
  expect(facts.token).toBe(facts.leaky)
  expect(facts.token).toBeLessThan(facts.requests)
  expect(facts).toMatchObject({ requests: 28, different: 0, tokenDelayMs: 0 })
  expect(facts.leakyDelayMs).toBeGreaterThanOrEqual(8000)
})

it('token and leaky: the burst is ten steps of the clock, which fill the one as they empty the other', () => {
  const { scenario, lanes } = STORIES['token-or-leaky']()
  const burst = scenario.arrivals.filter((time) => time < 3000)
  expect(new Set(burst).size).toBe(10)
  for (const time of burst) {
    const [token, leaky] = lanes.map(({ run }) => run.stateAt(time))
    if (token?.kind !== 'token-bucket' || leaky?.kind !== 'leaky-bucket') throw new Error('other lanes')
    expect(token.tokens + leaky.level).toBeCloseTo(10, 3)
  }
})

it('the lost half: at 0.5 a second 3 leak in 6 seconds; who rounds at every look counts 2', () => {
  expect(STORIES['lost-half']().facts).toStrictEqual({
    perSecond: 0.5,
    naive: 2,
    ours: 3,
    naiveInHalfMinute: 10,
    oursInHalfMinute: 15,
  })
})

it('the same microsecond: five requests are five, and a set of times takes them for one', () => {
  expect(STORIES['same-microsecond']().facts).toStrictEqual({
    limit: 2,
    requests: 5,
    naive: 5,
    naiveRemembers: 1,
    ours: 2,
    oursRemembers: 2,
  })
})

it.each(STORY_IDS)('%s fits on its axis, in order', (id) => {
  const { scenario } = STORIES[id]()
  expect(scenario.arrivals).toStrictEqual(scenario.arrivals.toSorted((a, b) => a - b))
  expect(scenario.arrivals.at(-1)).toBeLessThan(scenario.spanMs)
})
