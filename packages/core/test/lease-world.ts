import type { Clock } from '../src/clock.js'
import { ManualClock } from '../src/clock.js'
import { TidegateError } from '../src/errors.js'
import { MemoryStore } from '../src/memory-store/memory-store.js'
import type { Policy } from '../src/policy/index.js'
import type { FullStore } from '../src/store/full-store.js'
import type { Store, TakeRequest } from '../src/store/store.js'
import type { Admission } from '../src/testing/index.js'
import type { Timers } from '../src/timers.js'
import { settle } from './manual-timers.js'

/** The fate of one call to the store. */
export interface Trip {
  /** The latency of the request and of the reply, in milliseconds. */
  thereMs: number
  backMs: number
  /** The request is lost: it is not executed. */
  isLost?: boolean
  /** The reply is lost: the request is executed. */
  isReplyLost?: boolean
}

const INSTANT: Trip = { thereMs: 0, backMs: 0 }
const TIMEOUT_MS = 50

/** A store and processes that use it, in simulated time. */
export function createWorld(startMs: number) {
  const clock = new ManualClock(startMs)
  const memory = new MemoryStore({ clock })
  let number = 0
  /** Sorted by time; those at one moment in the order in which they were added. */
  let events: { atMs: number; number: number; run: () => void }[] = []

  function at(ms: number, run: () => void): number {
    const atMs = Math.max(ms, clock.nowMs())
    let [low, high] = [0, events.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (events[middle]!.atMs <= atMs) low = middle + 1
      else high = middle
    }
    events.splice(low, 0, { atMs, number: ++number, run })
    return number
  }

  return {
    clock,
    memory,
    at,
    nowMs: () => clock.nowMs(),
    cancel(event: unknown): void {
      events = events.filter(({ number }) => number !== event)
    },
    /** Runs everything up to a moment, in order. */
    async runUntil(ms: number): Promise<void> {
      await settle()
      while (events.length > 0 && events[0]!.atMs <= ms) {
        const next = events.shift()!
        clock.set(Math.max(clock.nowMs(), next.atMs))
        next.run()
        if (events[0]?.atMs !== next.atMs) await settle()
      }
      clock.set(Math.max(clock.nowMs(), ms))
    },
  }
}

export type World = ReturnType<typeof createWorld>

export interface ProcessOptions {
  /** How far its wall clock is ahead. Default: 0. */
  clockAheadMs?: number
  /** The fate of each call. Default: no latency. */
  trip?: () => Trip
  /** The policy that the store counts by, for mutants. Default: the policy itself. */
  countAs?: (policy: Policy, operation: string) => Policy
}

/** `withLeases` in the time of the process. */
export type AddLeases = (store: Store, time: { timers: Timers; clock: Clock }) => Store

/** One process of a world, which can be stopped or crash. */
export function createProcess(world: World, addLeases: AddLeases, options: ProcessOptions = {}) {
  const { trip = () => INSTANT, countAs = (policy: Policy) => policy } = options
  let { clockAheadMs = 0 } = options
  let stoppedUntilMs = Number.NEGATIVE_INFINITY
  let isCrashed = false
  const calls: string[] = []
  const admissions: Admission[] = []

  /** Runs a callback in this process, unless it is stopped or has crashed. */
  function here(ms: number, run: () => void): number {
    return world.at(ms, () => {
      if (isCrashed) return
      if (world.nowMs() < stoppedUntilMs) here(stoppedUntilMs, run)
      else run()
    })
  }

  const timers: Timers = {
    now: () => world.nowMs() + 777,
    after: (ms, run) => here(world.nowMs() + ms, run),
    cancel: world.cancel,
    unref() {},
    afterReading: (run) => here(world.nowMs(), run),
  }
  const clock: Clock = { nowUs: () => Math.round((world.nowMs() + clockAheadMs) * 1000) }

  function remote<T>(operation: string, execute: () => T): Promise<T> {
    calls.push(operation)
    const { thereMs, backMs, isLost = false, isReplyLost = false } = trip()
    const sentMs = world.nowMs()
    return new Promise((resolve, reject) => {
      if (isLost || isReplyLost) {
        here(sentMs + TIMEOUT_MS, () => reject(new TidegateError('STORE_FAILED', 'No reply.')))
      }
      if (isLost) return
      world.at(sentMs + thereMs, () => {
        const result = execute()
        if (!isReplyLost) here(world.nowMs() + backMs, () => resolve(result))
      })
    })
  }

  const counted = <R extends { policy: Policy }>(request: R, operation: string): R => ({
    ...request,
    policy: countAs(request.policy, operation),
  })
  const { memory } = world
  const asStore: Store & Pick<FullStore, 'takeUpTo' | 'block'> = {
    check: (request) => remote('check', () => memory.check(counted(request, 'check'))),
    take: (requests) => remote('take', () => memory.take(requests.map((one) => counted(one, 'take')))),
    peek: (request) => remote('peek', () => memory.peek(counted(request, 'peek'))),
    takeUpTo: (request) =>
      remote('takeUpTo', () => {
        const policy = countAs(request.policy, 'takeUpTo')
        return memory.takeUpTo({ ...request, policy, max: Math.min(request.max, policy.limit) })
      }),
    refund: (request) => remote('refund', () => memory.refund(counted(request, 'refund'))),
    block: (request) => remote('block', () => memory.block(request)),
    reset: (request) => remote('reset', () => memory.reset(request)),
    close() {},
  }
  const store = addLeases(asStore, { timers, clock })

  /** Records the admission if it was allowed. Fails like calls whose reply is lost. */
  async function recordAdmission<T extends { allowed: boolean }>(
    cost: number,
    send: () => Promise<T>,
  ): Promise<{ result: T; admission: Admission } | undefined> {
    const startMs = world.nowMs()
    try {
      const result = await send()
      if (!result.allowed) return undefined
      const admission = { startMs, endMs: world.nowMs(), cost }
      admissions.push(admission)
      return { result, admission }
    } catch {
      return undefined
    }
  }

  return {
    store,
    calls,
    admissions,
    here,
    check: (request: TakeRequest) => recordAdmission(request.cost, async () => store.check(request)),
    /** A take whose first request is the one that counts. */
    take: (requests: readonly TakeRequest[]) =>
      recordAdmission(requests[0]!.cost, async () => store.take(requests)),
    stopFor(ms: number): void {
      stoppedUntilMs = Math.max(stoppedUntilMs, world.nowMs() + ms)
    },
    stepClock(ms: number): void {
      clockAheadMs += ms
    },
    crash(): void {
      isCrashed = true
    },
  }
}
