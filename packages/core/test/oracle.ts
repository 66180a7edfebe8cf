/*
 * A second implementation of the five algorithms, as different as possible from the real one: BigInt throughout,
 * the whole history kept and replayed for every decision, and every wait found by search instead of by
 * formula. Slow, short, and easy to verify by reading.
 */

export interface OracleNumbers {
  algorithm: string
  limit: bigint
  /** Windows: microseconds. */
  window: bigint
  /** Buckets: `units` every `per` microseconds, as written, not reduced. */
  units: bigint
  per: bigint
  /** Windows: whether denied requests are charged too. */
  countDenied?: boolean
  /** Fixed window: whether windows begin with the first request. Only for clocks that do not step back. */
  first?: boolean
}

/** What happened at `time`: units were taken (above 0) or, in a bucket, given back (below 0). */
interface Event {
  time: bigint
  units: bigint
}

export interface OracleDecision {
  allowed: boolean
  remaining: bigint
  retryAfter: bigint
  resetAfter: bigint
  delay: bigint
}

export class Oracle {
  readonly #numbers: OracleNumbers
  #history: Event[] = []

  constructor(numbers: OracleNumbers) {
    this.#numbers = numbers
  }

  check(now: bigint, cost: bigint): OracleDecision {
    this.#moveFromAnotherClock(now)
    const at = this.#asOf(now)
    const allowed = this.#fits(at, cost)
    const delay = allowed ? this.#delay(at) : 0n
    if (allowed || this.#numbers.countDenied) this.#charge(at, cost)
    const retryAfter = allowed ? 0n : this.#firstMoment(at, cost) - now
    const isFull = this.#fits(at, this.#numbers.limit)
    return {
      allowed,
      remaining: this.#largestThatFits(at),
      retryAfter,
      resetAfter: isFull ? 0n : this.#firstMoment(at, this.#numbers.limit) - now,
      delay: delay === 0n ? 0n : at - now + delay,
    }
  }

  /** Takes units even if they exceed the limit. */
  charge(now: bigint, cost: bigint): Pick<OracleDecision, 'remaining' | 'resetAfter'> & { overBy: bigint } {
    this.#moveFromAnotherClock(now)
    const at = this.#asOf(now)
    this.#charge(at, cost)
    return {
      remaining: this.#largestThatFits(at),
      resetAfter: this.#firstMoment(at, this.#numbers.limit) - now,
      overBy: this.#overBy(at),
    }
  }

  #charge(at: bigint, units: bigint): void {
    this.#history.push({ time: at, units })
    if (this.#numbers.algorithm !== 'sliding-window-log') return
    // The newest 2 × limit units stay.
    let room = 2n * this.#numbers.limit
    for (const event of [...this.#history].reverse()) {
      if (event.units > room) event.units = room
      room -= event.units
    }
  }

  /** The number of units beyond the limit: the minimum to remove until a cost of 0 fits. */
  #overBy(at: bigint): bigint {
    const { algorithm, limit, per } = this.#numbers
    if (algorithm.endsWith('bucket')) {
      const over = this.#water(at) - limit * per
      return over > 0n ? (over + per - 1n) / per : 0n
    }
    const history = this.#history
    let [low, high] = [0n, history.reduce((sum, { units }) => sum + units, 0n)]
    while (low < high) {
      const middle = (low + high) / 2n
      const last = history.at(-1)!
      this.#history = [...history.slice(0, -1), { ...last, units: last.units - middle }]
      if (this.#fits(at, 0n)) high = middle
      else low = middle + 1n
    }
    this.#history = history
    return low
  }

  /** Takes back units of a decision made at `decidedAt`, and returns how many; time only goes forward here. */
  refund(now: bigint, decidedAt: bigint, cost: bigint): number {
    const { algorithm, window, limit, units, per } = this.#numbers
    if (algorithm === 'token-bucket' || algorithm === 'leaky-bucket') {
      const before = this.#water(now)
      if ((now - decidedAt) * units < limit * per) this.#history.push({ time: now, units: -cost })
      return Number(before - this.#water(now)) / Number(per)
    }
    const sameWindow = (a: bigint, b: bigint) => a / window === b / window
    const counts = {
      'fixed-window': sameWindow(decidedAt, now),
      'sliding-window-counter': sameWindow(decidedAt, now) || sameWindow(decidedAt, now - window),
      'sliding-window-log': decidedAt > now - window,
    }[algorithm]
    if (!counts) return 0
    let left = cost
    for (const event of this.#history) {
      const isOf =
        algorithm === 'sliding-window-log' ? event.time === decidedAt : sameWindow(event.time, decidedAt)
      if (!isOf) continue
      const back = event.units < left ? event.units : left
      event.units -= back
      left -= back
    }
    return Number(cost - left)
  }

  /** Every unit taken, with its time, to check the bounds. */
  get history(): readonly Event[] {
    return this.#history
  }

  #fits(at: bigint, cost: bigint): boolean {
    const { algorithm, limit, window } = this.#numbers
    const between = (from: bigint, to: bigint) =>
      this.#history
        .filter(({ time }) => time >= from && time < to)
        .reduce((sum, { units }) => sum + units, 0n)
    const start = (at / window) * window
    switch (algorithm) {
      case 'fixed-window': {
        const opened = this.#numbers.first ? this.#firstRequest(at) : start
        return between(opened, opened + window) + cost <= limit
      }
      case 'sliding-window-log':
        return between(at - window + 1n, at + 1n) + cost <= limit
      case 'sliding-window-counter': {
        const share = (between(start - window, start) * (start + window - at)) / window
        return between(start, start + window) + share + cost <= limit
      }
      case 'token-bucket':
        return this.#water(at) + cost * this.#numbers.per <= limit * this.#numbers.per
      default:
        return this.#water(at) + cost * this.#numbers.per <= limit * this.#numbers.per
    }
  }

  /** The start of the window at this moment, if each begins with the first request after the last. */
  #firstRequest(at: bigint): bigint {
    const { window } = this.#numbers
    let start: bigint | undefined
    for (const { time } of this.#history) if (start === undefined || time >= start + window) start = time
    return start === undefined || at >= start + window ? at : start
  }

  /**
   * The used part of a bucket, in 1/per units: the missing tokens of a token bucket, the level of a leaky one. Charges raise
   * it to at most 2^53 − 1 in the unit of the reduced rate.
   */
  #water(at: bigint): bigint {
    const { units: flow, per } = this.#numbers
    const highest = BigInt(Number.MAX_SAFE_INTEGER) * commonDivisor(flow, per)
    let water = 0n
    let last = 0n
    for (const { time, units } of [...this.#history, { time: at, units: 0n }]) {
      const drained = water - (time - last) * flow
      const after = (drained > 0n ? drained : 0n) + units * per
      water = after < 0n ? 0n : after > highest ? highest : after
      last = time
    }
    return water
  }

  #delay(at: bigint): bigint {
    if (this.#numbers.algorithm !== 'leaky-bucket') return 0n
    const { units, per } = this.#numbers
    let wait = 0n
    // The first microsecond by which everything before this request has leaked.
    const water = this.#water(at)
    let step = (water / units + per) | 1n
    for (; step > 0n; step /= 2n)
      while ((wait + step - 1n) * units < water && wait * units < water) wait += step
    while (wait > 0n && (wait - 1n) * units >= water) wait -= 1n
    return wait
  }

  #largestThatFits(at: bigint): bigint {
    let [low, high] = [0n, this.#numbers.limit]
    while (low < high) {
      const middle = (low + high + 1n) / 2n
      if (this.#fits(at, middle)) low = middle
      else high = middle - 1n
    }
    return low
  }

  /** The first moment from `at` on at which `cost` fits: gallop, then halve. */
  #firstMoment(at: bigint, cost: bigint): bigint {
    let step = 1n
    while (!this.#fits(at + step, cost)) step *= 2n
    let [low, high] = [at, at + step]
    while (low + 1n < high) {
      const middle = (low + high) / 2n
      if (this.#fits(middle, cost)) high = middle
      else low = middle
    }
    return high
  }

  /** The newest time in the state, as the algorithms define it. */
  #newest(): bigint | undefined {
    const last = this.#history.at(-1)
    if (last === undefined) return undefined
    const { algorithm, window } = this.#numbers
    const byWindow = algorithm === 'fixed-window' || algorithm === 'sliding-window-counter'
    return byWindow ? (last.time / window) * window : last.time
  }

  #span(): bigint {
    const { algorithm, window, limit, per, units } = this.#numbers
    return algorithm.endsWith('bucket') ? (limit * per) / units : window
  }

  #asOf(now: bigint): bigint {
    const newest = this.#newest()
    return newest !== undefined && newest > now ? newest : now
  }

  #moveFromAnotherClock(now: bigint): void {
    const newest = this.#newest()
    if (newest === undefined || newest - now <= this.#span()) return
    const { algorithm, window } = this.#numbers
    if (algorithm === 'fixed-window' || algorithm === 'sliding-window-counter') {
      const first = algorithm === 'fixed-window' ? newest : newest - window
      this.#history = this.#history
        .filter(({ time }) => time >= first)
        .map(({ units }) => ({ time: (now / window) * window, units }))
    } else {
      for (const event of this.#history) event.time += now - newest
    }
  }
}

function commonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : commonDivisor(b, a % b)
}
