/**
 * The most frequent of many strings, counted in a fixed number of places (Metwally, Agrawal, El Abbadi: "Space-Saving").
 * A new string replaces the least frequent one and continues its count. So a count is never too small, and too large by at
 * most the count that it continued, which is at most `total / places`.
 */
export interface Sketch {
  add(text: string): void
  /** The most frequent first. */
  entries(): Iterable<SketchEntry>
  /** Upper bound for any untracked text. */
  readonly least: number
  /** Number of additions. */
  readonly total: number
}

interface SketchEntry {
  readonly text: string
  /** An upper bound. */
  readonly count: number
  /** Maximum overestimate. */
  readonly error: number
}

export function createSketch(places: number): Sketch {
  // Sorted by count, the largest first. A count grows by one at a time, so an entry only swaps with the first entry that
  // has the same count.
  const texts: string[] = []
  const counts = new Float64Array(places)
  const errors = new Float64Array(places)
  const placeOf = new Map<string, number>()
  /** The first place of each count. */
  const firstWith = new Map<number, number>()
  let total = 0

  function grow(place: number): void {
    const count = counts[place]!
    const first = firstWith.get(count)!
    if (first !== place) swap(first, place)
    if (first + 1 < texts.length && counts[first + 1] === count) firstWith.set(count, first + 1)
    else firstWith.delete(count)
    counts[first] = count + 1
    if (!firstWith.has(count + 1)) firstWith.set(count + 1, first)
  }

  /** Swaps two entries with the same count. */
  function swap(a: number, b: number): void {
    const text = texts[a]!
    const error = errors[a]!
    texts[a] = texts[b]!
    errors[a] = errors[b]!
    texts[b] = text
    errors[b] = error
    placeOf.set(texts[a]!, a)
    placeOf.set(text, b)
  }

  return {
    add(text) {
      total++
      const existing = placeOf.get(text)
      if (existing !== undefined) return grow(existing)
      const last = texts.length
      if (last < places) {
        texts.push(text)
        counts[last] = 1
        placeOf.set(text, last)
        if (!firstWith.has(1)) firstWith.set(1, last)
        return
      }
      const place = places - 1
      placeOf.delete(texts[place]!)
      texts[place] = text
      errors[place] = counts[place]!
      placeOf.set(text, place)
      grow(place)
    },

    *entries() {
      for (let i = 0; i < texts.length; i++) yield { text: texts[i]!, count: counts[i]!, error: errors[i]! }
    },

    get least() {
      return texts.length < places ? 0 : counts[places - 1]!
    },

    get total() {
      return total
    },
  }
}
