/** A request body that calls back once it has arrived or failed. */
interface PendingBody {
  whenSettled(callback: () => void): void
}

/**
 * Bounds the connections of one upstream that wait for the rest of a request body, so that slow bodies cannot take the
 * connections of requests without a body or with a complete one.
 */
export class BodySlots {
  private readonly max: number
  private taken = 0
  private readonly waiting = new Set<() => void>()

  constructor(maxConnections: number) {
    this.max = Math.max(1, Math.floor(maxConnections / 2))
  }

  /** Calls back once the body is complete or has failed, or there is a slot for it. Returns a function that stops waiting. */
  enter(body: PendingBody, callback: () => void): () => void {
    let isWaiting = true
    const leave = () => {
      isWaiting = false
      this.waiting.delete(take)
    }
    const take = () => {
      leave()
      this.taken++
      body.whenSettled(() => this.release())
      callback()
    }
    if (this.taken < this.max) {
      take()
      return leave
    }
    this.waiting.add(take)
    body.whenSettled(() => {
      if (!isWaiting) return
      leave()
      callback()
    })
    return leave
  }

  private release(): void {
    this.taken--
    const [next] = this.waiting
    if (next !== undefined && this.taken < this.max) next()
  }
}
