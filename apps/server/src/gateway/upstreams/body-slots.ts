/** A request body that reports once that it has arrived or failed. */
interface PendingBody {
  whenSettled(callback: () => void): void
}

/**
 * How many connections of one upstream may wait for the rest of a request body. Slow bodies can take these and no more,
 * so that requests without a body, and those whose body has arrived, always find a connection.
 */
export class BodySlots {
  private readonly max: number
  private taken = 0
  private readonly waiting = new Set<() => void>()

  constructor(maxConnections: number) {
    this.max = Math.max(1, Math.floor(maxConnections / 2))
  }

  /** Calls back when the body is whole or has failed, or there is a slot for it. Returns a function that stops waiting. */
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
