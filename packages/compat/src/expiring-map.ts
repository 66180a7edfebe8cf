/** A map whose entries expire. When it is full, a new entry replaces the oldest one. */
export function createExpiringMap<T>(maxEntries = 10_000) {
  const entries = new Map<string, { value: T; untilMs: number }>()

  return {
    get(name: string): T | undefined {
      const entry = entries.get(name)
      if (entry === undefined || entry.untilMs > Date.now()) return entry?.value
      entries.delete(name)
      return undefined
    },

    set(name: string, value: T, forMs: number): void {
      if (entries.size >= maxEntries) entries.delete(entries.keys().next().value as string)
      entries.set(name, { value, untilMs: Date.now() + forMs })
    },

    delete(name: string): void {
      entries.delete(name)
    },
  }
}
