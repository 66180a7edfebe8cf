/** A block, in microseconds. */
export interface Block {
  readonly end: number
  readonly duration: number
}

/**
 * The remaining time of a block at `now`; 0 if it is over. A block that would last longer than its duration was made under
 * another clock, and lasts its duration from now.
 */
export function timeLeft({ end, duration }: Block, now: number): number {
  return Math.max(0, Math.min(duration, end - now))
}

/** The blocks by policy name and key. At most `maxKeys` of them: a new block then replaces the oldest one. */
export function createBlocks(maxKeys: number) {
  /** In the order of blocking. */
  const blocks = new Map<string, Block>()
  /** Reused, because a new iterator first walks over all deleted entries. */
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

  /** Checks the two oldest blocks for every new one, so that ended blocks are removed without a timer. */
  function makeRoom(now: number): void {
    for (let i = 0; i < CHECKED_PER_NEW; i++) {
      const id = findOldest()
      if (id === undefined) return
      if (timeLeft(blocks.get(id)!, now) === 0 || blocks.size >= maxKeys) blocks.delete(id)
    }
  }

  return {
    /** Lets a check skip the lookup. */
    isEmpty: (): boolean => blocks.size === 0,

    add(name: string, key: string, duration: number, now: number): void {
      const id = idOf(name, key)
      blocks.delete(id)
      if (id === oldest) oldest = undefined
      makeRoom(now)
      blocks.set(id, { end: now + duration, duration })
    },

    /**
     * The remaining time of a key's block; 0 if it is not blocked. Unless for a peek, also removes an ended block, and
     * moves a block from another clock to this one.
     */
    leftOf(name: string, key: string, now: number, isPeek: boolean): number {
      // Non-strings are rejected later by `assertKey`.
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

const CHECKED_PER_NEW = 2

/** Policy names have no colon. */
function idOf(name: string, key: string): string {
  return `${name}:${key}`
}
