import {
  type Decision,
  firstDecision,
  idUsed,
  maxOpenDenial,
  type Policy,
  type RatePolicy,
  type SettleResult,
  type TakeUpToResult,
  TidegateError,
  withReservation,
} from '@tidegate/core'
import { SCRIPT, type Script } from './load.js'

/** One limit of an entry, with the name of its Redis key. */
export interface RedisLimit {
  policy: Policy
  redisKey: string
  cost: number
  /** The slot of a concurrency policy. */
  id?: string | undefined
}

/**
 * One unit of work for the script. A take or a reservation of several limits is all or none. `repair` is a peek that also
 * moves a state from another clock, as a denied check does. The cost of a block is its duration in microseconds.
 */
export type Entry =
  | { kind: 'take'; limits: readonly RedisLimit[] }
  | { kind: 'peek' | 'repair' | 'reset' | 'charge' | 'block'; limits: readonly [RedisLimit] }
  /** `decidedAt` is the time of the decision, in microseconds. */
  | { kind: 'refund'; limits: readonly [RedisLimit]; decidedAt: number }
  /** The cost is the number of requested units. With a `ttlUs` of 0 nothing is charged, as in a `repair`. */
  | { kind: 'reserve'; limits: readonly RedisLimit[]; id: string; ttlUs: number; maxOpen: number }
  /** The cost is the actual number of units, or `UNDO`. */
  | { kind: 'settle'; limits: readonly [RedisLimit]; id: string }
  | { kind: 'release' | 'renew'; limits: readonly [RedisLimit] }
  /** The cost is the minimum number of units. */
  | { kind: 'takeUpTo'; limits: readonly [RedisLimit]; max: number; divisor: number }

/** The reply for one entry. `stale`: it was not executed, because it was sent with the wrong calendar windows. */
export type EntryReply = EntryResult | { failed: Error } | { stale: true }

/**
 * The result of one entry: a decision for each limit, the number of refunded units (1 if a slot was released or renewed),
 * and the result of a settlement or a `takeUpTo`.
 */
export interface EntryResult {
  decisions: Decision[]
  units: number
  settlement?: SettleResult
  takeUpToResult?: TakeUpToResult
}

/** The actual cost that undoes a reservation, so that its id can be used again. */
export const UNDO = -1

/** The numbers and letters of `lua/main.lua`. */
const KINDS = {
  take: 0,
  peek: 1,
  together: 2,
  refund: 3,
  repair: 4,
  reset: 5,
  charge: 6,
  block: 7,
  reserve: 8,
  settle: 9,
  release: 10,
  renew: 11,
  takeUpTo: 12,
}
const LETTERS: Record<Policy['algorithm'], string> = {
  'fixed-window': 'f',
  'sliding-window-log': 'l',
  'sliding-window-counter': 'c',
  'token-bucket': 't',
  'leaky-bucket': 'k',
  concurrency: 'n',
}
const FAILED = -1
const STALE = -2

/** The parts of one argument, 53 bits in all: cost, kind, index of the policy, number of limits - 1. */
const COSTS = 2 ** 29
const KIND = COSTS
const INDEX = 16 * KIND
const COUNT = 1024 * INDEX
const MAX_RUN = 1024

/** One call of the script. */
export interface ScriptCall {
  script: Script
  /** The command after the script: the number of declared keys, these keys, and the arguments. */
  args: string[]
}

/**
 * Writes the input of `lua/main.lua`. `timeUs` is the time of the decisions, 0 for the time of the server. `serverTimeUs`
 * is an estimate of the server's time, which determines the calendar windows to send. On a cluster, all keys that the
 * command declares must be in one slot.
 */
export function encode(
  entries: readonly Entry[],
  timeUs: number,
  serverTimeUs: number,
  declaresKeys = true,
): ScriptCall {
  const keys: string[] = []
  const policies: Policy[] = []
  const runs: string[] = []
  let run = -1
  let runCost = 0
  let length = 0

  function codeOf(kind: number, policy: Policy): number {
    let index = policies.indexOf(policy)
    if (index < 0) index = policies.push(policy) - 1
    return KIND * kind + INDEX * index
  }

  function endRun(): void {
    if (length > 0) {
      const fits = runCost > 0 && runCost < COSTS
      runs.push(String((fits ? runCost : 0) + run + COUNT * (length - 1)))
      if (!fits) runs.push(String(runCost))
    }
    length = 0
  }

  function addLimit(entry: Entry, { policy, cost, id }: RedisLimit): void {
    const code = codeOf(KINDS[entry.kind], policy)
    const more = argumentsAfter(entry, policy, id)
    if (code !== run || cost !== runCost || length === MAX_RUN || more !== undefined) endRun()
    run = code
    runCost = cost
    length++
    if (more === undefined) return
    endRun()
    runs.push(...more)
  }

  for (const entry of entries) {
    for (const { redisKey } of entry.limits) keys.push(redisKey)
    if (entry.limits.length === 1) {
      addLimit(entry, entry.limits[0]!)
      continue
    }
    endRun()
    runs.push(String(1 + KIND * KINDS.together + COUNT * (entry.limits.length - 1)))
    for (const limit of entry.limits) {
      addLimit(entry, limit)
      endRun()
    }
  }
  endRun()
  const ofPolicies = policies.flatMap((policy) => argumentsOf(policy, serverTimeUs))
  const count = String(keys.length)
  const rest = [String(timeUs), String(policies.length), ...ofPolicies, ...runs]
  const args = declaresKeys ? [count, ...keys, ...rest] : ['0', ...rest, ...keys, count]
  return { script: SCRIPT, args }
}

/** The arguments that follow a limit. */
function argumentsAfter(entry: Entry, policy: Policy, id = ''): string[] | undefined {
  switch (entry.kind) {
    case 'refund':
      return [String(entry.decidedAt)]
    case 'reserve':
      return [entry.id, String(entry.ttlUs), String(entry.maxOpen)]
    case 'settle':
      return [entry.id]
    case 'takeUpTo':
      return [String(entry.max), String(entry.divisor)]
    case 'release':
    case 'renew':
      return [id]
    case 'take':
    case 'repair':
      return policy.algorithm === 'concurrency' ? [id] : undefined
    default:
      return undefined
  }
}

/** The four arguments of a policy, written once for each policy, or again for another calendar window. */
function argumentsOf(policy: Policy, serverTimeUs: number): readonly string[] {
  const windows = windowsOf(policy, serverTimeUs)
  const cachedArguments = argumentsByPolicy.get(policy)
  if (cachedArguments?.windows === windows) return cachedArguments.args
  const { algorithm, limit, blockForUs, countDenied } = policy
  const hasOptions = blockForUs > 0 || countDenied || windows !== ''
  const options = hasOptions ? ` ${blockForUs} ${countDenied ? 1 : 0} ${windows}` : ''
  const args = [...[limit, ...paceOf(policy)].map(String), LETTERS[algorithm] + options]
  argumentsByPolicy.set(policy, { windows, args })
  return args
}

const argumentsByPolicy = new WeakMap<Policy, { windows: string; args: readonly string[] }>()

function paceOf(policy: Policy): [a: number, b: number] {
  if (policy.algorithm === 'concurrency') return [policy.ttlUs, 0]
  return 'windowUs' in policy ? [policy.windowUs, 0] : [policy.n, policy.d]
}

/** Where the windows of a fixed window begin. */
function windowsOf(policy: Policy, serverTimeUs: number): string {
  if (policy.algorithm !== 'fixed-window' || policy.windowKind === 'epoch') return ''
  return policy.calendar === undefined ? 'f' : policy.calendar.boundariesAround(serverTimeUs).join(' ')
}

/**
 * Reads the output of `lua/main.lua`: the server's time, and a reply for each entry. An entry with invalid numbers fails
 * alone, because the others were decided. Throws for a reply with too few numbers.
 */
export function decode(entries: readonly Entry[], reply: unknown): { timeUs: number; replies: EntryReply[] } {
  let reason = 1
  for (const entry of entries) reason += 3 * entry.limits.length
  if (!Array.isArray(reply) || reply.length < reason) throw invalidReply()
  const numbers: readonly unknown[] = reply
  const timeUs = wholeNumber(numbers[0])
  let at = 1
  const replies = entries.map((entry): EntryReply => {
    const first = at
    at += 3 * entry.limits.length
    if (numbers[first] === FAILED) {
      const message = String(reply[reason++] ?? 'the script reported no reason')
      const isIdUsed = entry.kind === 'reserve' && message === 'RESERVATION_ID_USED'
      return { failed: isIdUsed ? idUsed(entry.id) : new Error(message) }
    }
    if (numbers[first] === STALE) return { stale: true }
    try {
      return resultOf(entry, timeUs, numbers, first)
    } catch (error) {
      return { failed: error as Error }
    }
  })
  return { timeUs, replies }
}

function resultOf(entry: Entry, now: number, numbers: readonly unknown[], first: number): EntryResult {
  const { policy, cost } = entry.limits[0]!
  switch (entry.kind) {
    case 'refund': {
      const unit = 'd' in policy ? policy.d : 1
      return { decisions: [], units: wholeNumber(numbers[first], cost * unit) / unit }
    }
    case 'release':
    case 'renew':
      return { decisions: [], units: wholeNumber(numbers[first], 1) }
    case 'reset':
    case 'block':
      return { decisions: [], units: 0 }
    case 'charge': {
      const decision = decisionOf(policy, cost, now, numbers, first)
      const overBy = wholeNumber(numbers[first + 2])
      return { decisions: [{ ...decision, delayMs: 0, charged: cost, overBy }], units: 0 }
    }
    case 'takeUpTo':
      return { decisions: [], units: 0, takeUpToResult: takeUpToResultOf(policy, entry, now, numbers, first) }
    case 'settle':
      return { decisions: [], units: 0, settlement: settleResultOf(policy, numbers, first) }
    case 'reserve': {
      const flags = entry.limits.map((_, i) => wholeNumber(numbers[first + 3 * i]) % 8)
      const isReserved = flags.every((flag) => flag & ALLOWED)
      return {
        decisions: entry.limits.map((limit, i) =>
          reserveDecisionOf(limit, entry.id, isReserved, now, numbers, first + 3 * i),
        ),
        units: 0,
      }
    }
    default: {
      const decisions = entry.limits.map((limit, i) =>
        decisionOf(limit.policy, limit.cost, now, numbers, first + 3 * i),
      )
      return { decisions: hasSlots(entry) ? withSlots(entry, decisions) : decisions, units: 0 }
    }
  }
}

function hasSlots({ limits }: Entry): boolean {
  return limits.some(({ policy }) => policy.algorithm === 'concurrency')
}

/** Adds the ids of acquired slots, or the reason why there are none. */
function withSlots({ kind, limits }: Entry, decisions: readonly Decision[]): Decision[] {
  const isTaken = kind === 'take' && decisions.every(({ allowed }) => allowed)
  return decisions.map((decision, i) => {
    const { policy, id } = limits[i]!
    if (policy.algorithm !== 'concurrency') return decision
    if (!decision.allowed) return { ...decision, reason: 'slot' }
    return isTaken && id !== undefined ? { ...decision, id } : decision
  })
}

/** The maximum wait in microseconds: 2^53 for a bucket to fill, and the same again if the clock stepped back. */
const MAX_WAIT = 2 ** 54
const ALLOWED = 1
const BLOCKED = 2
/** See `lua/lib/reservations.lua`. */
const OF_RESERVATION = 4

function decisionOf(
  policy: Policy,
  cost: number,
  now: number,
  numbers: readonly unknown[],
  at: number,
): Decision {
  const packed = wholeNumber(numbers[at], 8 * policy.limit + 7)
  const flags = packed % 8
  const allowed = (flags & ALLOWED) !== 0
  const wait = wholeNumber(numbers[at + 2], MAX_WAIT) / 1000
  const decision: Decision = {
    allowed,
    limit: policy.limit,
    cost,
    remaining: (packed - flags) / 8,
    retryAfterMs: allowed ? 0 : wait,
    resetAfterMs: wholeNumber(numbers[at + 1], MAX_WAIT) / 1000,
    delayMs: allowed ? wait : 0,
    timeMs: now / 1000,
    policy: policy.name,
  }
  return flags & BLOCKED ? { ...decision, reason: 'blocked' } : decision
}

function reserveDecisionOf(
  { policy, cost: units }: RedisLimit,
  id: string,
  isReserved: boolean,
  now: number,
  numbers: readonly unknown[],
  at: number,
): Decision {
  const limit = { policy: policy as RatePolicy, units, cost: Math.min(units, policy.limit) }
  const flags = wholeNumber(numbers[at]) % 8
  if (flags === ALLOWED + OF_RESERVATION) {
    const remaining = (wholeNumber(numbers[at]) - flags) / 8
    const resetAfter = wholeNumber(numbers[at + 1], MAX_WAIT)
    return firstDecision(limit, { id, remaining, resetAfter, time: wholeNumber(numbers[at + 2]) })
  }
  const decision = decisionOf(policy, units, now, numbers, at)
  const reserved = withReservation(decision, limit, id, isReserved ? limit.cost : 0)
  return flags === OF_RESERVATION ? maxOpenDenial(reserved, decision.retryAfterMs) : reserved
}

function takeUpToResultOf(
  policy: Policy,
  { limits: [{ cost: min }], max }: Extract<Entry, { kind: 'takeUpTo' }>,
  now: number,
  numbers: readonly unknown[],
  at: number,
): TakeUpToResult {
  const isTaken = (wholeNumber(numbers[at]) & ALLOWED) !== 0
  if (!isTaken) {
    return { taken: 0, decision: decisionOf(policy, min, now, numbers, at), windowEndMs: undefined }
  }
  const [taken, windowLeft] = String(numbers[at + 2])
    .split(' ')
    .map((text) => wholeNumber(Number(text)))
  if (taken === undefined || windowLeft === undefined || taken < min || taken > max) throw invalidReply()
  const decision = decisionOf(policy, taken, now, [numbers[at], numbers[at + 1], 0], 0)
  return { taken, decision, windowEndMs: windowLeft === 0 ? undefined : (now + windowLeft) / 1000 }
}

/** The first number of a settlement. */
const SETTLEMENTS = ['unknown', 'ended', 'refunded', 'charged'] as const

function settleResultOf(policy: Policy, numbers: readonly unknown[], at: number): SettleResult {
  const settlement = SETTLEMENTS[wholeNumber(numbers[at], SETTLEMENTS.length - 1)]!
  const units = wholeNumber(numbers[at + 1])
  const overBy = wholeNumber(numbers[at + 2])
  if (settlement === 'charged') return { settled: true, refunded: 0, charged: units, overBy }
  if (settlement !== 'refunded') return { settled: false, reason: settlement }
  return { settled: true, refunded: 'd' in policy ? units / policy.d : units, charged: 0, overBy: 0 }
}

function wholeNumber(received: unknown, max = Number.MAX_SAFE_INTEGER): number {
  const value = typeof received === 'string' && /^\d{16}$/.test(received) ? Number(received) : received
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) return value
  throw invalidReply()
}

function invalidReply(): TidegateError {
  return new TidegateError(
    'STORE_FAILED',
    'Redis sent a reply that is not a result of the script. The client must return numbers as numbers: do not set stringNumbers of ioredis.',
  )
}
