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
  /** The most calls that may wait at once, for all keys together. */
  maxWaiting: number
  timers?: Timers
}

export interface WaitQueue {
  /** Resolves once the units have been taken, and after the decision's `delayMs`. */
  wait(key: string, cost: number, timeoutMs: number, signal?: AbortSignalLike): Promise<Decision>
}

/** The shortest time between two checks of a line, whatever the store answers. */
const SHORTEST_RETRY_MS = 1

/**
 * First come, first served for each key. The first call of a line is checked when its cost should fit; the calls behind
 * it are not checked before it is their turn, so small costs do not overtake a large one. All calls of all keys share
 * one timer, which keeps the process alive while a call waits.
 */
export function createWaitQueue(options: WaitQueueOptions): WaitQueue {
  const { name, pace, check, refund, maxWaiting, timers = platformTimers } = options
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
      // The first call gets its timeout when it is denied: without a wait no timer is needed.
      if (existing === undefined) void serve(line)
      else setTimeoutOf(waiter)
    })
  }

  /** Runs while the line has calls. */
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
    line.deniedCost = waiter.cost
    line.notBeforeMs = nowMs + Math.max(SHORTEST_RETRY_MS, decision.retryAfterMs)
    line.isCertain = decision.degraded === undefined
    line.isPaced = decision.reason === undefined
    if (!waiter.isSettled) {
      const atMs = earliestMs(line, pace, 0, waiter.cost)
      if (nowMs >= waiter.deadlineMs || atMs > waiter.deadlineMs) rejectLate(waiter, atMs)
      else setTimeoutOf(waiter)
      waiter.isAssessed = true
    }
    assess(line, pace, rejectLate)
  }

  /** A refund that fails is lost: its store reports it. */
  async function giveBack(key: string, decision: Decision): Promise<void> {
    try {
      await refund(key, decision)
    } catch {}
    // Check again: more fits now than the last denial said. By now the key may have another line.
    const line = lines.get(key)
    if (line === undefined) return
    line.deniedCost = Infinity
    line.leavesMs = 0
    line.wake?.()
  }

  function setTimeoutOf(waiter: Waiter): void {
    waiter.task ??= schedule.add(waiter.deadlineMs, () => {
      // Units that are there by now, and answers that have arrived, come first.
      if (expired.push(waiter) === 1) timers.afterReading(onTimeouts)
    })
  }

  function onTimeouts(): void {
    for (const waiter of expired.splice(0)) {
      // A check in flight may still allow the call; if it does not, the call is rejected then.
      if (waiter.taken !== undefined || waiter.line.checking === waiter) continue
      waiter.settle({ error: timedOut(name, waiter.timeoutMs) })
    }
  }

  function rejectLate(waiter: Waiter, atMs: number): void {
    const leastMs = atMs - timers.now()
    const { timeoutMs } = waiter
    waiter.settle({ error: leastMs > 0 ? tooLong(name, timeoutMs, leastMs) : timedOut(name, timeoutMs) })
  }

  /** Until the denied cost should fit, or until `line.wake`. */
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
  const message = `"${name}" allows this call in ${Math.ceil(leastMs)} ms at the earliest, which is later than its timeoutMs, ${timeoutMs}.`
  return new TidegateError('WAIT_TIMEOUT', message)
}

function timedOut(name: string, timeoutMs: number): TidegateError {
  return new TidegateError(
    'WAIT_TIMEOUT',
    `"${name}" did not allow this call within its timeoutMs, ${timeoutMs}.`,
  )
}

function queueFull(maxWaiting: number): TidegateError {
  const message = `${maxWaiting.toLocaleString('en')} calls wait for this limiter already. Start fewer at a time, or set a shorter timeoutMs.`
  return new TidegateError('WAIT_QUEUE_FULL', message)
}

function aborted(signal: AbortSignalLike): TidegateError {
  return new TidegateError('WAIT_ABORTED', 'The wait was aborted by its signal.', { cause: signal.reason })
}
