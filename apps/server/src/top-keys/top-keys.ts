import { createSketch, type Sketch } from './sketch.js'

/** The most frequent texts of the last minute, in bounded memory. */
export interface TopKeys {
  add(text: string): void
  /** At most `count` texts, the most frequent first. */
  top(count: number): TopKey[]
  clear(): void
}

export interface TopKey {
  readonly text: string
  /** An upper bound. */
  readonly count: number
  /** Maximum overestimate; 0 if the count is exact. */
  readonly error: number
}

/** A minute has six parts. The oldest is dropped as a whole, so that the result covers 50 to 60 seconds. */
const PARTS = 6
const PART_MS = 10_000
const PLACES = 256

/** `now` is in milliseconds, and never goes back. */
export function createTopKeys(now: () => number, places = PLACES): TopKeys {
  let parts: Sketch[] = []
  let current: Sketch | undefined
  let endsMs = 0

  /** Drops parts that are too old. */
  function turn(): void {
    const time = now()
    if (current !== undefined && time < endsMs) return
    const elapsedParts = current === undefined ? PARTS : Math.floor((time - endsMs) / PART_MS) + 1
    parts = elapsedParts >= PARTS ? [] : parts.slice(Math.max(0, parts.length + elapsedParts - PARTS))
    // Periods without a call count as empty parts.
    for (let i = 1; i < Math.min(elapsedParts, PARTS); i++) parts.push(createSketch(1))
    current = createSketch(places)
    parts.push(current)
    endsMs = elapsedParts >= PARTS ? time + PART_MS : endsMs + elapsedParts * PART_MS
  }

  return {
    add(text) {
      turn()
      current!.add(text)
    },

    top(count) {
      turn()
      return mergeParts(parts)
        .sort((a, b) => b.count - a.count || (a.text < b.text ? -1 : 1))
        .slice(0, count)
    },

    clear() {
      parts = []
      current = undefined
    },
  }
}

/** Adds up the parts. A text that a part does not track may have occurred up to `least` times in it. */
function mergeParts(parts: readonly Sketch[]): TopKey[] {
  const least = parts.reduce((sum, part) => sum + part.least, 0)
  const sums = new Map<string, { text: string; count: number; error: number }>()
  for (const part of parts) {
    for (const { text, count, error } of part.entries()) {
      let sum = sums.get(text)
      if (sum === undefined) {
        sum = { text, count: least, error: least }
        sums.set(text, sum)
      }
      sum.count += count - part.least
      sum.error += error - part.least
    }
  }
  return [...sums.values()]
}
