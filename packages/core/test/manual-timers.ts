import type { Timers } from '../src/timers.js'

/**
 * Timers whose time advances on demand, with an event loop: each turn runs the timers that are due, then reads what
 * has arrived, then runs the callbacks of `afterReading`.
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

  unref = () => {}

  afterReading = (run: () => void) => {
    this.#readers.push(run)
  }

  /** How many timers have been created so far. */
  get created(): number {
    return this.#number
  }

  /** How many timers have not run yet. */
  get pending(): number {
    return this.#timers.length
  }

  /** Advances the time on an idle event loop: each timer runs when it is due. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    await settle()
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      await this.#turn(() => {})
    }
    this.#nowMs = endMs
  }

  /** Blocks the event loop for this time, then runs one turn, which reads what `read` delivers. */
  async block(ms: number, read: () => void = () => {}): Promise<void> {
    await settle()
    this.#nowMs += ms
    await this.#turn(read)
  }

  /** Synchronous work: the time advances and the event loop does not run. */
  work(ms: number): void {
    this.#nowMs += ms
  }

  async #turn(read: () => void): Promise<void> {
    for (let next = this.#next(this.#nowMs); next !== undefined; next = this.#next(this.#nowMs)) {
      this.cancel(next.number)
      next.run()
    }
    await settle()
    read()
    await settle()
    for (const run of this.#readers.splice(0)) run()
    await settle()
  }

  #next(untilMs: number) {
    return this.#timers.filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0]
  }
}

/** Resolves once all promise reactions that can run have run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
