import type { Decision, Policy } from '@tidegate/core'
import { TidegateError } from '@tidegate/core'
import { LETTERS, type Script, scriptFor } from './script.js'

/** One limit of one entry, with the name of its Redis key. */
export interface RedisLimit {
  policy: Policy
  redisKey: string
  cost: number
}

/**
 * What is decided as one: a check, a peek, several limits all or nothing, a refund, a reset, or a look: a peek
 * that repairs what a refused check would repair.
 */
export type Entry =
  | { kind: 'take'; limits: readonly RedisLimit[] }
  | { kind: 'peek' | 'look' | 'reset'; limits: readonly [RedisLimit] }
  /** Of a decision that was made then, in microseconds. */
  | { kind: 'refund'; limits: readonly [RedisLimit]; decidedAt: number }

/** What the script found for one entry. */
export type EntryReply = Decided | { failed: Error }

/** A decision for each limit, and the units that a refund gave. */
export interface Decided {
  decisions: Decision[]
  given: number
}

const KINDS = { take: 0, peek: 1, together: 2, refund: 3, look: 4, reset: 5 }
/** What one number of a call is put together of, and `main.lua` takes apart: 53 bits in all. */
const COSTS = 2 ** 30
const POLICIES = 2 ** 10
const RUN = COSTS * 8 * POLICIES
const MAX_RUN = 2 ** 10

/** What one call sends. */
export interface ScriptCall {
  script: Script
  /** What comes after the script: how many keys, the keys, and the arguments. */
  args: string[]
}

/** The script, keys and arguments of one call of the script; see `lua/main.lua`. */
export function encode(entries: readonly Entry[], timeUs: number): ScriptCall {
  const args = ['']
  const policies: Policy[] = []
  const runs: string[] = []
  let run = -1
  let length = 0
  function endRun(): void {
    if (length > 0) runs.push(String(run + RUN * (length - 1)))
    length = 0
  }
  for (const entry of entries) {
    for (let i = 0; i < entry.limits.length; i++) {
      const { policy, redisKey, cost } = entry.limits[i]!
      let index = policies.indexOf(policy)
      if (index < 0) index = policies.push(policy) - 1
      const kind = i < entry.limits.length - 1 ? KINDS.together : KINDS[entry.kind]
      const code = Math.min(cost, COSTS - 1) + COSTS * (kind + 8 * index)
      if (code !== run || length === MAX_RUN || entry.kind === 'refund') endRun()
      run = code
      length++
      args.push(redisKey)
    }
    if (entry.limits.length > 1 || entry.kind === 'refund') endRun()
    if (entry.kind === 'refund') runs.push(String(entry.decidedAt))
  }
  endRun()
  args[0] = String(args.length - 1)
  args.push(String(timeUs), ...runs)
  const { algorithm } = policies[0]!
  const isOne = policies.every((policy) => policy.algorithm === algorithm)
  for (let i = policies.length - 1; i >= 0; i--) {
    const policy = policies[i]!
    args.push(...argumentsOf(policy))
    if (!isOne) args.push(LETTERS[policy.algorithm])
  }
  return { script: scriptFor(isOne ? algorithm : undefined), args }
}

/** Three arguments for a policy, made once. */
function argumentsOf(policy: Policy): string[] {
  let known = argumentsByPolicy.get(policy)
  if (known === undefined) {
    const [a, b] = 'windowUs' in policy ? [policy.windowUs, 0] : [policy.n, policy.d]
    known = [String(policy.limit), String(a), String(b)]
    argumentsByPolicy.set(policy, known)
  }
  return known
}

const argumentsByPolicy = new WeakMap<Policy, string[]>()

/**
 * What the reply says of each entry. Anything that is not as `lua/main.lua` promises is refused; of one entry alone,
 * where it can be told which: the others have been decided.
 */
export function decode(entries: readonly Entry[], reply: unknown): EntryReply[] {
  let reason = 1
  for (const entry of entries) reason += 3 * entry.limits.length
  if (!Array.isArray(reply) || reply.length < reason) throw notAnAnswer()
  const numbers: readonly unknown[] = reply
  const now = whole(numbers[0])
  let at = 1
  return entries.map((entry) => {
    const first = at
    at += 3 * entry.limits.length
    if (numbers[first] === -1) {
      return { failed: new Error(String(reply[reason++] ?? 'the script gave no reason')) }
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

/** A bucket may take up to 2^53 to fill, and its clock may have stepped back by as much. */
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
  throw notAnAnswer()
}

function notAnAnswer(): TidegateError {
  return new TidegateError(
    'STORE_FAILED',
    'Redis answered with something that is not an answer of the script. Leave stringNumbers of an ioredis client off.',
  )
}
