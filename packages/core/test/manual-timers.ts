import type { Timers } from '../src/timers.js'

/**
 * Timers whose time stands still until it is told otherwise, and an event loop to go with them: what is due
 * runs first, then what has arrived is read, then what waits for that runs.
 */
export class ManualTimers implements Timers {
  #nowMs = 0
  #number = 0
  #timers: { number: number; dueMs: number; run: () => void }[] = []
  #readers: (() => void)[] = []

  now = () => this.#nowMs

  after = (ms: number, run: () => void) => {
    this.#timers.push({ number: ++this.#number, dueMs: this.#nowMs + ms, run })
    return this.#number
  }

  cancel = (number: unknown) => {
    this.#timers = this.#timers.filter((timer) => timer.number !== number)
  }

  afterReading = (run: () => void) => {
    this.#readers.push(run)
  }

  /** How many timers have been set so far, and how many of them are still to run. */
  get set(): number {
    return this.#number
  }
  get waiting(): number {
    return this.#timers.length
  }

  /** Lets time pass; each timer runs when it is due. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    await allDone()
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      await this.#turn(() => {})
    }
    this.#nowMs = endMs
  }

  /** Time passes while the process is busy with something else. Then `arrived` is read. */
  async block(ms: number, arrived: () => void = () => {}): Promise<void> {
    await allDone()
    this.#nowMs += ms
    await this.#turn(arrived)
  }

  async #turn(arrived: () => void): Promise<void> {
    for (let next = this.#next(this.#nowMs); next !== undefined; next = this.#next(this.#nowMs)) {
      this.cancel(next.number)
      next.run()
    }
    await allDone()
    arrived()
    await allDone()
    for (const run of this.#readers.splice(0)) run()
    await allDone()
  }

  #next(untilMs: number) {
    return this.#timers.filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0]
  }
}

/** Runs whatever can run by now. */
export function allDone(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
