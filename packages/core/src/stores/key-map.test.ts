import fc from 'fast-check'
import { expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { KeyMap } from './key-map.js'

it('is a map, before and after its first keys are too many for one', () => {
  // Beyond 16,384 keys the rest goes to shards; every operation is then tried on both.
  const filled = new KeyMap()
  const model = new Map<string, number>()
  for (let i = 1; i <= 20_000; i++) {
    filled.add(`key:${i}`, i)
    model.set(`key:${i}`, i)
  }
  let next = 20_001
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 25_000 })), { maxLength: 50 })
  holds('key-map', steps, (list) => {
    for (const [add, n] of list) {
      const key = `key:${n}`
      expect(filled.get(key)).toBe(model.get(key) ?? 0)
      if (add && !model.has(key)) {
        filled.add(key, next)
        model.set(key, next++)
      } else if (!add) {
        filled.delete(key)
        model.delete(key)
      }
      expect(filled.get(key)).toBe(model.get(key) ?? 0)
    }
  })
  for (const [key, number] of model) if (filled.get(key) !== number) throw new Error(`lost ${key}`)
})
