/** A cached response and the requests that it matches. */
export interface CacheEntry {
  readonly url: string
  /** The request headers that the response depends on, with their values. */
  readonly vary: readonly (readonly [name: string, value: string | null])[]
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly body: Uint8Array<ArrayBuffer> | null
  readonly receivedMs: number
  readonly initialAgeMs: number
  /** Since its creation by the origin; 0 if it must always be revalidated. */
  readonly lifetimeMs: number
}

export interface Entries {
  find(url: string, headers: Headers): CacheEntry | undefined
  put(entry: CacheEntry): void
  drop(url: string): void
  clear(): void
  /** The number of drops: a response that was requested before a drop may be outdated. */
  readonly drops: number
  readonly bytes: number
  readonly size: number
}

/** Cached responses by URL and varying headers, bounded by evicting the least recently used. */
export function createEntries({ maxEntries, maxBytes }: { maxEntries: number; maxBytes: number }): Entries {
  const byUrl = new Map<string, CacheEntry[]>()
  /** By last use, oldest first. */
  const order = new Set<CacheEntry>()
  let bytes = 0
  let drops = 0

  function remove(entry: CacheEntry): void {
    if (!order.delete(entry)) return
    bytes -= sizeOf(entry)
    const others = byUrl.get(entry.url)!.filter((one) => one !== entry)
    if (others.length === 0) byUrl.delete(entry.url)
    else byUrl.set(entry.url, others)
  }

  return {
    find(url, headers) {
      // The newest first: a server may have changed its `Vary` header.
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

/** The approximate memory of an entry besides its texts and body. */
const OVERHEAD_BYTES = 500

function sizeOf({ url, vary, headers, body }: CacheEntry): number {
  let characters = url.length
  for (const [name, value] of [...headers, ...vary]) characters += name.length + (value?.length ?? 0)
  return OVERHEAD_BYTES + 2 * characters + (body?.byteLength ?? 0)
}

function isFor(vary: CacheEntry['vary'], headers: Headers): boolean {
  return vary.every(([name, value]) => headers.get(name) === value)
}

function isSame(one: CacheEntry['vary'], other: CacheEntry['vary']): boolean {
  return (
    one.length === other.length &&
    one.every(([name, value], i) => other[i]![0] === name && other[i]![1] === value)
  )
}
