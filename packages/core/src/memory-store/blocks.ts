/** A block, in microseconds. */
export interface Block {
  readonly end: number
  readonly duration: number
}

/**
 * How long a block still lasts at `now`; 0 if it is over. A block that seems to last longer than its duration was made
 * under another clock, and lasts its duration from now.
 */
export function timeLeft({ end, duration }: Block, now: number): number {
  return Math.max(0, Math.min(duration, end - now))
}

/** The blocks of keys, by policy name and key, in bounded memory: when it is full, the oldest block is dropped. */
export function createBlocks(maxKeys: number) {
  /** In the order of blocking. */
  const blocks = new Map<string, Block>()
  /** Kept, because a new iterator would walk over all deleted entries first. */
  let order = blocks.keys()
  let oldest: string | undefined

  function findOldest(): string | undefined {
    if (blocks.size === 0) return undefined
    while (oldest === undefined || !blocks.has(oldest)) {
      const next = order.next()
      if (next.done) order = blocks.keys()
      oldest = next.value
    }
    return oldest
  }

  /** Looks at the two oldest blocks for every new one, so that blocks that are over are removed without a timer. */
  function makeRoom(now: number): void {
    for (let i = 0; i < LOOKED_AT; i++) {
      const id = findOldest()
      if (id === undefined) return
      if (timeLeft(blocks.get(id)!, now) === 0 || blocks.size >= maxKeys) blocks.delete(id)
    }
  }

  return {
    /** For the fast path of a check. */
    isEmpty: (): boolean => blocks.size === 0,

    add(name: string, key: string, duration: number, now: number): void {
      const id = idOf(name, key)
      blocks.delete(id)
      if (id === oldest) oldest = undefined
      makeRoom(now)
      blocks.set(id, { end: now + duration, duration })
    },

    /**
     * How long a key is still blocked; 0 if it is not. Unless it peeks, removes a block that is over, and moves one from
     * another clock to this one.
     */
    leftOf(name: string, key: string, now: number, isPeek: boolean): number {
      // Callers reject a key that is not a string with `assertKey` later.
      if (typeof key !== 'string') return 0
      const id = idOf(name, key)
      const block = blocks.get(id)
      if (block === undefined) return 0
      const left = timeLeft(block, now)
      if (isPeek) return left
      if (left === 0) blocks.delete(id)
      else if (block.end - now > left) blocks.set(id, { ...block, end: now + left })
      return left
    },

    delete(name: string, key: string): void {
      if (blocks.size > 0) blocks.delete(idOf(name, key))
    },
  }
}

const LOOKED_AT = 2

/** Policy names have no colon. */
function idOf(name: string, key: string): string {
  return `${name}:${key}`
}
