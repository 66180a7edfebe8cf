import type { Timers } from '../timers.js'

/** A callback that runs at a time. */
export interface Task {
  readonly dueMs: number
  readonly run: () => void
  /** Its index in the heap; −1 once it has run or was removed. */
  index: number
}

export interface Schedule {
  /** Runs the callback at `dueMs`, in the time of `timers.now()`, or later. */
  add(dueMs: number, run: () => void): Task
  remove(task: Task): void
}

/** The maximum delay of a timer; a longer one would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Runs any number of tasks on one timer. Without tasks there is no timer. */
export function createSchedule(timers: Timers): Schedule {
  /** A binary heap by `dueMs`. */
  const heap: Task[] = []
  let timer: unknown
  /** When the timer fires; infinite if there is none. */
  let firesMs = Infinity

  function setTimer(): void {
    const next = heap[0]
    // An early timer costs less than resetting the timer whenever a task is removed.
    if (next !== undefined && next.dueMs >= firesMs) return
    if (firesMs !== Infinity) timers.cancel(timer)
    firesMs = Infinity
    if (next === undefined) return
    const afterMs = Math.min(MAX_TIMER_MS, Math.max(0, Math.ceil(next.dueMs - timers.now())))
    firesMs = next.dueMs
    timer = timers.after(afterMs, onTimer)
  }

  function onTimer(): void {
    firesMs = Infinity
    const nowMs = timers.now()
    for (let next = heap[0]; next !== undefined && next.dueMs <= nowMs; next = heap[0]) {
      take(next)
      next.run()
    }
    setTimer()
  }

  /** Removes a task from the heap. */
  function take(task: Task): void {
    const last = heap.pop()!
    const { index } = task
    task.index = -1
    if (last === task) return
    put(last, index)
    sink(last)
    rise(last)
  }

  function put(task: Task, index: number): void {
    heap[index] = task
    task.index = index
  }

  function rise(task: Task): void {
    while (task.index > 0) {
      const { index } = task
      const parent = heap[(index - 1) >> 1]!
      if (task.dueMs >= parent.dueMs) return
      put(task, parent.index)
      put(parent, index)
    }
  }

  function sink(task: Task): void {
    for (;;) {
      const { index } = task
      const left = heap[2 * index + 1]
      const right = heap[2 * index + 2]
      const child = left !== undefined && right !== undefined && right.dueMs < left.dueMs ? right : left
      if (child === undefined || child.dueMs >= task.dueMs) return
      put(task, child.index)
      put(child, index)
    }
  }

  return {
    add(dueMs, run) {
      const task: Task = { dueMs, run, index: heap.length }
      heap.push(task)
      rise(task)
      setTimer()
      return task
    },
    remove(task) {
      if (task.index < 0) return
      take(task)
      // Without tasks, stop the timer: an idle schedule must not keep the process alive.
      if (heap.length === 0) setTimer()
    },
  }
}
