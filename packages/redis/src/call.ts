import type { Decision, Policy } from '@tidegate/core'
import { TidegateError } from '@tidegate/core'
import { SCRIPT, type Script } from './script.js'

/** One limit of an entry, with the name of its Redis key. */
export interface RedisLimit {
  policy: Policy
  redisKey: string
  cost: number
}

/**
 * One unit of work for the script: a check, a take of several limits (all or none), a peek, a refund or a reset. `look`
 * is a peek that also repairs a state from another clock, as a denied check does.
 */
export type Entry =
  | { kind: 'take'; limits: readonly RedisLimit[] }
  | { kind: 'peek' | 'look' | 'reset'; limits: readonly [RedisLimit] }
  /** `decidedAt` is the time of the decision, in microseconds. */
  | { kind: 'refund'; limits: readonly [RedisLimit]; decidedAt: number }

/** The script's result for one entry. */
export type EntryReply = Decided | { failed: Error }

/** One decision for each limit, and the units that a refund gave back. */
export interface Decided {
  decisions: Decision[]
  given: number
}

/** The numbers and letters of `lua/main.lua`. */
const KINDS = { take: 0, peek: 1, together: 2, refund: 3, look: 4, reset: 5 }
const LETTERS: Record<Policy['algorithm'], string> = {
  'fixed-window': 'f',
  'sliding-window-log': 'l',
  'sliding-window-counter': 'c',
  'token-bucket': 't',
  'leaky-bucket': 'k',
}

/** The parts of one argument, 53 bits in all: cost, kind, index of the policy, number of limits - 1. */
const COSTS = 2 ** 30
const POLICIES = 2 ** 10
const RUN = COSTS * 8 * POLICIES
const MAX_RUN = 2 ** 10

/** One call of the script. */
export interface ScriptCall {
  script: Script
  /** What follows the script in the command: the number of keys, the keys, and the arguments. */
  args: string[]
}

/** Writes the input of `lua/main.lua`. */
export function encode(entries: readonly Entry[], timeUs: number): ScriptCall {
  const keys: string[] = []
  const policies: Policy[] = []
  const runs: string[] = []
  let run = -1
  let length = 0

  function codeOf(kind: number, { policy, cost }: RedisLimit): number {
    let index = policies.indexOf(policy)
    if (index < 0) index = policies.push(policy) - 1
    return Math.min(cost, COSTS - 1) + COSTS * (kind + 8 * index)
  }

  function endRun(): void {
    if (length > 0) runs.push(String(run + RUN * (length - 1)))
    length = 0
  }

  for (const entry of entries) {
    for (const { redisKey } of entry.limits) keys.push(redisKey)
    if (entry.limits.length > 1) {
      endRun()
      runs.push(String(COSTS * KINDS.together + RUN * (entry.limits.length - 1)))
      for (const limit of entry.limits) runs.push(String(codeOf(KINDS.take, limit)))
    } else {
      const code = codeOf(KINDS[entry.kind], entry.limits[0]!)
      if (code !== run || length === MAX_RUN) endRun()
      run = code
      length++
      if (entry.kind === 'refund') {
        endRun()
        runs.push(String(entry.decidedAt))
      }
    }
  }
  endRun()
  const ofPolicies = policies.flatMap(argumentsOf)
  const args = [String(keys.length), ...keys, String(timeUs), String(policies.length), ...ofPolicies, ...runs]
  return { script: SCRIPT, args }
}

/** The four arguments of a policy, written once for each policy. */
function argumentsOf(policy: Policy): string[] {
  let args = argumentsByPolicy.get(policy)
  if (args === undefined) {
    const [a, b] = 'windowUs' in policy ? [policy.windowUs, 0] : [policy.n, policy.d]
    args = [String(policy.limit), String(a), String(b), LETTERS[policy.algorithm]]
    argumentsByPolicy.set(policy, args)
  }
  return args
}

const argumentsByPolicy = new WeakMap<Policy, string[]>()

/**
 * Reads the output of `lua/main.lua`. An entry whose numbers are invalid fails alone, because the others were decided; a
 * reply that has too few numbers throws.
 */
export function decode(entries: readonly Entry[], reply: unknown): EntryReply[] {
  let reason = 1
  for (const entry of entries) reason += 3 * entry.limits.length
  if (!Array.isArray(reply) || reply.length < reason) throw invalidReply()
  const numbers: readonly unknown[] = reply
  const now = whole(numbers[0])
  let at = 1
  return entries.map((entry) => {
    const first = at
    at += 3 * entry.limits.length
    if (numbers[first] === -1) {
      return { failed: new Error(String(reply[reason++] ?? 'the script reported no reason')) }
    }
    try {
      return decidedOf(entry, now, numbers, first)
    } catch (error) {
      return { failed: error as Error }
    }
  })
}

function decidedOf(entry: Entry, now: number, numbers: readonly unknown[], first: number): Decided {
  if (entry.kind === 'refund') {
    const { policy, cost } = entry.limits[0]!
    const unit = 'd' in policy ? policy.d : 1
    return { decisions: [], given: whole(numbers[first], cost * unit) / unit }
  }
  const decisions = entry.limits.map(({ policy, cost }, i) =>
    decisionOf(policy, cost, now, numbers, first + 3 * i),
  )
  return { decisions, given: 0 }
}

/** In microseconds: up to 2^53 for a bucket to fill, and as much again if the clock stepped back. */
const MAX_WAIT = 2 ** 54

function decisionOf(
  policy: Policy,
  cost: number,
  now: number,
  numbers: readonly unknown[],
  at: number,
): Decision {
  const packed = whole(numbers[at], 2 * policy.limit + 1)
  const allowed = packed % 2 === 1
  const wait = whole(numbers[at + 2], MAX_WAIT) / 1000
  return {
    allowed,
    limit: policy.limit,
    cost,
    remaining: Math.floor(packed / 2),
    retryAfterMs: allowed ? 0 : wait,
    resetAfterMs: whole(numbers[at + 1], MAX_WAIT) / 1000,
    delayMs: allowed ? wait : 0,
    timeMs: now / 1000,
    policy: policy.name,
  }
}

function whole(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) return value
  throw invalidReply()
}

function invalidReply(): TidegateError {
  return new TidegateError(
    'STORE_FAILED',
    'Redis sent a reply that the script cannot have made. Clients must return numbers as numbers: do not set stringNumbers of ioredis.',
  )
}
