import fc from 'fast-check'
import { expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { decide, type KeyState, refund } from '../algorithms/index.js'
import { type TokenBucketPolicy, tokenBucket } from '../policy/index.js'
import { addRecord } from './add-record.js'
import { dropLapsed, emptyRecordList } from './record.js'
import { settleRecord } from './settle-record.js'

/*
 * After every settlement of a token bucket, the level must equal a replay of the whole trace in which the actual units of
 * settled reservations were charged from the start. The replay has its own arithmetic.
 */

type Step = { do: string; moveUs: number; units: number; index: number; policy: number }

/** How far the clock moves before a step: mostly 0 or forward, sometimes back by a little or far. */
const move = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0) },
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 8_000 }) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 40_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -10_000, max: 0 }) },
  { weight: 1, arbitrary: fc.integer({ min: -200_000, max: 0 }) },
)

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom('check', 'check', 'reserve', 'reserve', 'settle', 'settle', 'charge', 'refund'),
  moveUs: move,
  units: fc.integer({ min: 0, max: 12 }),
  index: fc.nat(5),
  policy: fc.nat(11),
})

const trace = fc.array(step, { maxLength: 60, size: 'max' })

it('the level after a settlement is as if the actual units had been charged from the start', () => {
  const policies = [tokenBucket({ capacity: 10, refillRate: '1/4ms', name: 'replayed' })]
  holds('reservations-replay', trace, (steps) => run(steps, policies, 'equal'), {
    runs: 3000,
  })
})

it('the same holds if the capacity or the rate changes and the unit does not', () => {
  const policies = [
    tokenBucket({ capacity: 10, refillRate: '1/4ms', name: 'replayed' }),
    tokenBucket({ capacity: 4, refillRate: '1/4ms', name: 'replayed' }),
    tokenBucket({ capacity: 25, refillRate: '3/4ms', name: 'replayed' }),
  ]
  expect(new Set(policies.map(({ d }) => d)).size).toBe(1)
  holds('reservations-replay-numbers', trace, (steps) => run(steps, policies, 'equal'), {
    runs: 3000,
  })
})

it('the level is never higher if the unit of the rate changes', () => {
  const policies = [
    tokenBucket({ capacity: 10, refillRate: '1/4ms', name: 'replayed' }),
    tokenBucket({ capacity: 7, refillRate: '1/3ms', name: 'replayed' }),
  ]
  holds('reservations-replay-units', trace, (steps) => run(steps, policies, 'at most'), {
    runs: 3000,
  })
})

/** One change of the level, with the time and the policy that it was made by. */
interface Event {
  kind: 'charge' | 'refund' | 'write' | 'delete'
  now: number
  policy: TokenBucketPolicy
  units: number
}

function run(
  steps: readonly Step[],
  policies: readonly TokenBucketPolicy[],
  compare: 'equal' | 'at most',
): void {
  const ttl = 400_000
  let now = 1_000_000
  let state: KeyState | undefined
  const list = emptyRecordList()
  const events: Event[] = []
  const chargeOf = new Map<string, Event>()
  const charges: { now: number; units: number }[] = []

  for (const [i, { do: what, moveUs, units, index, policy: number }] of steps.entries()) {
    now += moveUs
    const policy = policies[number < policies.length ? number : 0]!
    const add = (kind: Event['kind'], some = 0) => {
      const event = { kind, now, policy, units: some }
      events.push(event)
      return event
    }
    const before = state
    if (what === 'check' || what === 'reserve') {
      const cost = Math.min(Math.max(1, units), policy.limit)
      const { decision, state: next } = decide(policy, state, now, cost, 'take')
      if (decision.allowed) {
        const event = add('charge', cost)
        state = next
        charges.push({ now, units: cost })
        if (what === 'reserve') {
          const id = `r${i}`
          const answer = { remaining: decision.remaining, resetAfter: 0 }
          const one = { id, units: cost, reserved: cost, time: now, expiresAt: now + ttl, ...answer }
          dropLapsed(list, now)
          state = addRecord(policy, state!, list, one)
          chargeOf.set(id, event)
        }
      } else if (next !== state) {
        state = next
        add('write')
      }
    } else if (what === 'charge') {
      state = decide(policy, state, now, Math.max(1, units), 'charge').state
      add('charge', Math.max(1, units))
    } else if (what === 'refund') {
      const earlier = charges.at(-1 - index)
      if (earlier === undefined) continue
      const cost = Math.max(1, Math.min(units, earlier.units))
      const result = refund(policy, state, now, earlier.now, cost)
      if (result.units > 0) add('refund', cost)
      state = result.state
    } else {
      dropLapsed(list, now)
      const record = list.records[index % Math.max(1, list.records.length)]
      if (record === undefined) continue
      const settled = settleRecord(policy, state, list.records, now, record.id, units)!
      list.records = settled.records
      state = settled.state
      if (state !== before) add('write')
      if (settled.excess > 0) {
        state = decide(policy, state, now, settled.excess, 'charge').state
        add('charge', settled.excess)
      }
      if (units < record.reserved) chargeOf.get(record.id)!.units = units
      if (before !== undefined && state === undefined) add('delete')
      const expected = replay(events, policy, now)
      const level = levelOf(state, policy, now)
      if (compare === 'equal') expect(level).toBe(expected)
      else expect(level).toBeLessThanOrEqual(expected)
      continue
    }
    if (before !== undefined && state === undefined) add('delete')
  }
}

interface Bucket {
  level: number
  unit: number
  time: number
}

function replay(events: readonly Event[], policy: TokenBucketPolicy, now: number): number {
  let bucket: Bucket | undefined
  for (const { kind, now: at, policy: by, units } of events) {
    const current = advance(bucket, by, at)
    if (kind === 'charge') bucket = { ...current, level: current.level - units * by.d }
    else if (kind === 'refund')
      bucket = { ...current, level: Math.min(by.full, current.level + units * by.d) }
    else bucket = kind === 'delete' ? undefined : current
  }
  return advance(bucket, policy, now).level
}

/** The bucket at this moment, in the policy's unit. */
function advance(bucket: Bucket | undefined, { d, n, full, spanUs }: TokenBucketPolicy, now: number): Bucket {
  if (bucket === undefined) return { level: full, unit: d, time: now }
  const { level, unit, time } = bucket
  const at = time > now && time - now <= spanUs ? time : now
  const converted = unit === d ? level : Math.floor((level * d) / unit)
  return { level: Math.min(full, converted + Math.max(0, at - time) * n), unit: d, time: at }
}

function levelOf(state: KeyState | undefined, policy: TokenBucketPolicy, now: number): number {
  if (state !== undefined && state.algorithm !== 'token-bucket') throw new Error('not a bucket')
  return advance(state, policy, now).level
}
