/**
 * The ids of ended reservations of a key, and ids that were settled or cancelled before their reserve arrived, which must
 * then take nothing. The newest 10,000 ids are remembered for 60 seconds.
 */
export class EndedIds {
  /** When each id ended, in microseconds, in the order in which they ended. */
  readonly #times = new Map<string, number>()
  #newest = 0
  /** Whether an older id may have a later time, because the clock has stepped back. */
  #isMixed = false

  get size(): number {
    return this.#times.size
  }

  has(id: string, now: number): boolean {
    const time = this.#times.get(id)
    return time !== undefined && time > now - REMEMBERED_US
  }

  add(id: string, now: number): void {
    if (now < this.#newest) this.#isMixed = true
    this.#newest = now
    this.#times.delete(id)
    this.#times.set(id, now)
    this.drop(now)
    for (const oldest of this.#times.keys()) {
      if (this.#times.size <= MAX_ENDED) break
      this.#times.delete(oldest)
    }
  }

  /** Drops expired ids. */
  drop(now: number): void {
    for (const [id, time] of this.#times) {
      if (time <= now - REMEMBERED_US) this.#times.delete(id)
      else if (!this.#isMixed) return
    }
    if (this.#times.size === 0) this.#isMixed = false
  }
}

const REMEMBERED_US = 60_000_000
const MAX_ENDED = 10_000
