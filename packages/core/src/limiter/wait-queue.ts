import type { Decision } from '../decision.js'
import { TidegateError } from '../errors.js'
import type { MaybePromise } from '../store/store.js'
import { platformTimers, type Timers } from '../timers.js'
import { append, assess, createLine, earliestMs, type Line, remove, type Waiter } from './line.js'
import { type AbortSignalLike, onAbort } from './on-abort.js'
import type { Pace } from './pace.js'
import { createSchedule } from './schedule.js'

export interface WaitQueueOptions {
  /** The policy's name, for messages. */
  name: string
  pace: Pace
  check(key: string, cost: number): MaybePromise<Decision>
  /** Gives back all units of an allowed decision. */
  refund(key: string, decision: Decision): MaybePromise<unknown>
  /** The maximum number of waiting calls, for all keys together. */
  maxWaiting: number
  /**
   * How long a denial of the limit itself holds for certain, in milliseconds: then the first call is checked again.
   * Default: until its wait ends.
   */
  denialMs?: number
  timers?: Timers
}

export interface WaitQueue {
  /** Resolves once the units have been taken, and after the decision's `delayMs`. */
  wait(key: string, cost: number, timeoutMs: number, signal?: AbortSignalLike): Promise<Decision>
}

/** The minimum time between two checks of a line, even if the store returns a shorter wait. */
const SHORTEST_RETRY_MS = 1

/**
 * Serves the calls of each key in order of arrival. The first call of a line is checked when its cost should fit. The
 * calls behind it are not checked until they are first, so small costs do not overtake a large one. All calls share one
 * timer, which keeps the process alive while a call waits.
 */
export function createWaitQueue(options: WaitQueueOptions): WaitQueue {
  const { name, pace, check, refund, maxWaiting, denialMs = Infinity, timers = platformTimers } = options
  const schedule = createSchedule(timers)
  const lines = new Map<string, Line>()
  /** Calls whose timeout has passed in this turn of the event loop. */
  const expired: Waiter[] = []
  let waiting = 0

  function wait(key: string, cost: number, timeoutMs: number, signal?: AbortSignalLike): Promise<Decision> {
    if (signal?.aborted) return Promise.reject(aborted(signal))
    const nowMs = timers.now()
    const existing = lines.get(key)
    if (existing !== undefined) {
      const leastMs = earliestMs(existing, pace, existing.units, cost) - nowMs
      if (leastMs > timeoutMs) return Promise.reject(tooLong(name, timeoutMs, leastMs))
    }
    if (waiting >= maxWaiting) return Promise.reject(queueFull(maxWaiting))
    const line = existing ?? createLine(key)
    if (existing === undefined) lines.set(key, line)

    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        line,
        cost,
        timeoutMs,
        deadlineMs: nowMs + timeoutMs,
        isSettled: false,
        task: undefined,
        taken: undefined,
        isAssessed: line.deniedCost !== Infinity,
        previous: undefined,
        next: undefined,
        settle(result) {
          if (waiter.isSettled) return
          waiter.isSettled = true
          waiting--
          stopListening?.()
          if (waiter.task !== undefined) schedule.remove(waiter.task)
          remove(waiter, pace)
          if ('decision' in result) resolve(result.decision)
          else reject(result.error)
        },
      }
      const stopListening =
        signal &&
        onAbort(signal, () => {
          waiter.settle({ error: aborted(signal) })
          if (waiter.taken !== undefined) void giveBack(key, waiter.taken)
        })
      waiting++
      append(waiter, pace)
      // The first call gets its timeout when it is denied: if it need not wait, it needs no timer.
      if (existing === undefined) void serve(line)
      else setTimeoutOf(waiter)
    })
  }

  /** Serves a line until it has no calls. */
  async function serve(line: Line): Promise<void> {
    for (let waiter = line.first; waiter !== undefined; waiter = line.first) {
      if (line.leavesMs > waiter.deadlineMs) rejectLate(waiter, line.leavesMs)
      else if (waiter.cost >= line.deniedCost && timers.now() < line.notBeforeMs) await sleep(line)
      else await checkFirst(line, waiter)
    }
    lines.delete(line.key)
  }

  async function checkFirst(line: Line, waiter: Waiter): Promise<void> {
    line.deniedCost = Infinity
    line.checking = waiter
    try {
      const decision = await check(line.key, waiter.cost)
      line.checking = undefined
      if (decision.allowed) await onAllowed(line, waiter, decision)
      else onDenied(line, waiter, decision)
    } catch (error) {
      line.checking = undefined
      waiter.settle({ error })
    }
  }

  async function onAllowed(line: Line, waiter: Waiter, decision: Decision): Promise<void> {
    if (waiter.isSettled) return giveBack(line.key, decision)
    if (decision.delayMs === 0) return waiter.settle({ decision })
    const leavesMs = timers.now() + decision.delayMs
    if (leavesMs > waiter.deadlineMs) {
      rejectLate(waiter, leavesMs)
      await giveBack(line.key, decision)
    } else {
      remove(waiter, pace)
      if (waiter.task !== undefined) schedule.remove(waiter.task)
      waiter.task = schedule.add(leavesMs, () => waiter.settle({ decision }))
      waiter.taken = decision
    }
    line.leavesMs = leavesMs
  }

  function onDenied(line: Line, waiter: Waiter, decision: Decision): void {
    const nowMs = timers.now()
    const waitMs = Math.max(SHORTEST_RETRY_MS, decision.retryAfterMs)
    const isOfStore = decision.degraded === undefined
    line.isPaced = decision.reason === undefined
    const holdsMs = isOfStore && line.isPaced ? denialMs : Infinity
    line.deniedCost = waiter.cost
    line.notBeforeMs = nowMs + Math.min(waitMs, holdsMs)
    line.isCertain = isOfStore && waitMs <= holdsMs
    if (!waiter.isSettled) {
      const atMs = earliestMs(line, pace, 0, waiter.cost)
      if (nowMs >= waiter.deadlineMs || atMs > waiter.deadlineMs) rejectLate(waiter, atMs)
      else setTimeoutOf(waiter)
      waiter.isAssessed = true
    }
    assess(line, pace, rejectLate)
  }

  /** Refunds a decision. Errors are ignored here, because the store reports them. */
  async function giveBack(key: string, decision: Decision): Promise<void> {
    try {
      await refund(key, decision)
    } catch {}
    // Check again, because more units are available than at the last denial. The key may have a new line by now.
    const line = lines.get(key)
    if (line === undefined) return
    line.deniedCost = Infinity
    line.leavesMs = 0
    line.wake?.()
  }

  function setTimeoutOf(waiter: Waiter): void {
    waiter.task ??= schedule.add(waiter.deadlineMs, () => {
      // Units that became available and responses that have arrived in the meantime take precedence.
      if (expired.push(waiter) === 1) timers.afterReading(onTimeouts)
    })
  }

  function onTimeouts(): void {
    for (const waiter of expired.splice(0)) {
      // A check in flight can still allow the call; otherwise `onDenied` rejects it.
      if (waiter.taken !== undefined || waiter.line.checking === waiter) continue
      waiter.settle({ error: timedOut(name, waiter.timeoutMs) })
    }
  }

  function rejectLate(waiter: Waiter, atMs: number): void {
    const leastMs = atMs - timers.now()
    const { timeoutMs } = waiter
    waiter.settle({ error: leastMs > 0 ? tooLong(name, timeoutMs, leastMs) : timedOut(name, timeoutMs) })
  }

  /** Waits until the denied cost should fit, or until `line.wake`. */
  function sleep(line: Line): Promise<void> {
    return new Promise((resolve) => {
      const task = schedule.add(line.notBeforeMs, () => line.wake?.())
      line.wake = () => {
        line.wake = undefined
        schedule.remove(task)
        resolve()
      }
    })
  }

  return { wait }
}

function tooLong(name: string, timeoutMs: number, leastMs: number): TidegateError {
  const message = `"${name}" can allow this call in ${Math.ceil(leastMs)} ms at the earliest, which is after its timeoutMs of ${timeoutMs}. Set a longer timeoutMs, or try again later.`
  return new TidegateError('WAIT_TIMEOUT', message)
}

function timedOut(name: string, timeoutMs: number): TidegateError {
  return new TidegateError(
    'WAIT_TIMEOUT',
    `"${name}" did not allow this call within its timeoutMs of ${timeoutMs}.`,
  )
}

function queueFull(maxWaiting: number): TidegateError {
  const message = `The queue of this limiter is full: ${maxWaiting.toLocaleString('en')} calls are waiting. Start fewer calls at a time, or set a shorter timeoutMs.`
  return new TidegateError('WAIT_QUEUE_FULL', message)
}

function aborted(signal: AbortSignalLike): TidegateError {
  return new TidegateError('WAIT_ABORTED', 'The wait was aborted by its signal.', { cause: signal.reason })
}
