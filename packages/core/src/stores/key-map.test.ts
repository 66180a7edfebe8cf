import fc from 'fast-check'
import { expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { KeyMap } from './key-map.js'

// Up to 16,384 keys are in one map; with the next ones they move over, four at a time.
it.each([100, 16_384, 17_000, 20_000, 40_000])('is a map, with %d keys in it and then some', (size) => {
  const keys: string[] = ['']
  const map = new KeyMap((number) => keys[number]!)
  const model = new Map<string, number>()
  function add(key: string): void {
    keys.push(key)
    map.add(key, keys.length - 1)
    model.set(key, keys.length - 1)
  }
  for (let i = 1; i <= size; i++) add(`key:${i}`)
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: Math.ceil(size * 1.2) })), {
    maxLength: 100,
  })
  holds('key-map', steps, (list) => {
    for (const [adds, n] of list) {
      const key = `key:${n}`
      const number = model.get(key) ?? 0
      expect(map.get(key)).toBe(number)
      if (adds && number === 0) add(key)
      if (!adds && number !== 0) {
        map.delete(key, number)
        model.delete(key)
      }
      expect(map.get(key)).toBe(model.get(key) ?? 0)
    }
  })
  for (const [key, number] of model) if (map.get(key) !== number) throw new Error(`lost ${key}`)
})
