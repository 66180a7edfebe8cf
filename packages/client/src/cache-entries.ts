/** An answer that is kept, and for which requests. */
export interface Entry {
  readonly url: string
  /** The request's headers that the answer depends on, and what they were. */
  readonly vary: readonly (readonly [name: string, value: string | null])[]
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer> | null
  readonly cameMs: number
  readonly initialAgeMs: number
  /** From when its origin made it; 0 if it must be asked about every time. */
  readonly lifetimeMs: number
}

export interface Entries {
  find(url: string, headers: Headers): Entry | undefined
  put(entry: Entry): void
  drop(url: string): void
  clear(): void
  /** Counts what was dropped: an answer asked for before may be of before. */
  readonly drops: number
  readonly bytes: number
  readonly size: number
}

/** Answers by URL and by the headers they vary on, bounded; the least recently used go first. */
export function createEntries({ maxEntries, maxBytes }: { maxEntries: number; maxBytes: number }): Entries {
  const byUrl = new Map<string, Entry[]>()
  /** In the order of their last use. */
  const order = new Set<Entry>()
  let bytes = 0
  let drops = 0

  function remove(entry: Entry): void {
    if (!order.delete(entry)) return
    bytes -= sizeOf(entry)
    const others = byUrl.get(entry.url)!.filter((one) => one !== entry)
    if (others.length === 0) byUrl.delete(entry.url)
    else byUrl.set(entry.url, others)
  }

  return {
    find(url, headers) {
      // The newest first: a server may have changed its mind about what it varies on.
      const found = byUrl.get(url)?.findLast(({ vary }) => isFor(vary, headers))
      if (found !== undefined) {
        order.delete(found)
        order.add(found)
      }
      return found
    },

    put(entry) {
      for (const other of byUrl.get(entry.url) ?? []) if (isSame(other.vary, entry.vary)) remove(other)
      byUrl.set(entry.url, [...(byUrl.get(entry.url) ?? []), entry])
      order.add(entry)
      bytes += sizeOf(entry)
      for (const oldest of order) {
        if (order.size <= maxEntries && bytes <= maxBytes) break
        remove(oldest)
      }
    },

    drop(url) {
      drops++
      for (const entry of byUrl.get(url) ?? []) remove(entry)
    },

    clear() {
      drops++
      byUrl.clear()
      order.clear()
      bytes = 0
    },

    get drops() {
      return drops
    },
    get bytes() {
      return bytes
    },
    get size() {
      return order.size
    },
  }
}

/** What an entry costs besides its texts and its body: roughly. */
const OVERHEAD_BYTES = 500

function sizeOf({ url, vary, headers, body }: Entry): number {
  let characters = url.length
  for (const [name, value] of [...headers, ...vary]) characters += name.length + (value?.length ?? 0)
  return OVERHEAD_BYTES + 2 * characters + (body?.byteLength ?? 0)
}

function isFor(vary: Entry['vary'], headers: Headers): boolean {
  return vary.every(([name, value]) => headers.get(name) === value)
}

function isSame(one: Entry['vary'], other: Entry['vary']): boolean {
  return (
    one.length === other.length &&
    one.every(([name, value], i) => other[i]![0] === name && other[i]![1] === value)
  )
}
