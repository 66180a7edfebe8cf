import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSketch } from './sketch.js'
import { createTopKeys } from './top-keys.js'

/** A few frequent and many rare texts, like keys. */
const texts = fc.array(
  fc.oneof(
    fc.constantFrom('a', 'b', 'c'),
    fc.integer({ min: 0, max: 30 }).map((i) => `key ${i}`),
  ),
  { maxLength: 400 },
)

function exactly(added: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of added) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

describe('a sketch', () => {
  it('never underestimates, overestimates by at most its error, and has all frequent texts', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 12 }), (added, places) => {
        const sketch = createSketch(places)
        for (const text of added) sketch.add(text)
        const exact = exactly(added)
        const entries = [...sketch.entries()]
        expect(sketch.total).toBe(added.length)
        expect(entries.length).toBe(Math.min(places, exact.size))
        expect(new Set(entries.map(({ text }) => text)).size).toBe(entries.length)
        for (const { text, count, error } of entries) {
          const real = exact.get(text) ?? 0
          expect(count).toBeGreaterThanOrEqual(real)
          expect(count - error).toBeLessThanOrEqual(real)
          expect(error).toBeLessThanOrEqual(added.length / places)
        }
        const kept = new Set(entries.map(({ text }) => text))
        for (const [text, real] of exact) {
          if (kept.has(text)) continue
          expect(real).toBeLessThanOrEqual(sketch.least)
          expect(real).toBeLessThanOrEqual(added.length / places)
        }
        const counts = entries.map(({ count }) => count)
        expect(counts).toStrictEqual(counts.toSorted((a, b) => b - a))
      }),
      { seed: 8, numRuns: 500 },
    )
  })

  it('is exact with a place for each text', () => {
    const sketch = createSketch(3)
    for (const text of ['x', 'y', 'x', 'z', 'x', 'y']) sketch.add(text)
    expect([...sketch.entries()]).toStrictEqual([
      { text: 'x', count: 3, error: 0 },
      { text: 'y', count: 2, error: 0 },
      { text: 'z', count: 1, error: 0 },
    ])
  })
})

describe('the busiest of the last minute', () => {
  it('keeps the guarantees of a sketch over all parts of the minute', () => {
    const steps = fc.array(fc.tuple(texts, fc.integer({ min: 0, max: 9_000 })), { maxLength: 12 })
    fc.assert(
      fc.property(steps, (parts) => {
        let now = 0
        const top = createTopKeys(() => now, 8)
        const added: { text: string; at: number }[] = []
        for (const [some, passes] of parts) {
          for (const text of some) {
            top.add(text)
            added.push({ text, at: now })
          }
          now += passes
        }
        // Texts older than a minute are dropped, texts younger than fifty seconds are kept.
        const atMost = exactly(added.filter(({ at }) => at > now - 60_000).map(({ text }) => text))
        const atLeast = exactly(added.filter(({ at }) => at > now - 50_000).map(({ text }) => text))
        for (const { text, count, error } of top.top(100)) {
          expect(count).toBeGreaterThanOrEqual(atLeast.get(text) ?? 0)
          expect(count - error).toBeLessThanOrEqual(atMost.get(text) ?? 0)
        }
      }),
      { seed: 8, numRuns: 300 },
    )
  })

  it('expires keys, even without new ones', () => {
    let now = 0
    const top = createTopKeys(() => now)
    top.add('old')
    now = 30_000
    top.add('new')
    expect(top.top(10).map(({ text }) => text)).toStrictEqual(['new', 'old'])
    now = 65_000
    expect(top.top(10).map(({ text }) => text)).toStrictEqual(['new'])
    now = 1_000_000
    expect(top.top(10)).toStrictEqual([])
    top.add('again')
    top.clear()
    expect(top.top(10)).toStrictEqual([])
  })

  it('keeps at most one text per place', () => {
    const top = createTopKeys(() => 0, 50)
    for (let i = 0; i < 100_000; i++) top.add(`key ${i}`)
    expect(top.top(1000)).toHaveLength(50)
  })
})
