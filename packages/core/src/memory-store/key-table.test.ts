import fc from 'fast-check'
import { expect, it } from 'vitest'
import { holds } from '../../test/kept-seeds.js'
import { fixedWindow } from '../policy/index.js'
import { KeyTable } from './key-table.js'
import { Rows } from './rows.js'

const policies = ['api', 'login'].map((name) => fixedWindow({ limit: 10, window: '1m', name }))

// Above 16,384 keys the table moves its keys from maps to an index, four with every new key.
it.each([0, 100, 16_384, 17_000, 20_000, 40_000])('finds what a Map finds, starting with %d keys', (size) => {
  const rows = new Rows()
  const table = new KeyTable(rows)
  const model = new Map<string, number>()
  function add(policy: (typeof policies)[number], key: string): void {
    const slot = rows.add(policy, key)
    table.add(policy.name, key, slot)
    model.set(`${policy.name}:${key}`, slot)
  }
  for (let i = 1; i <= size; i++) add(policies[i % 2]!, `key:${i}`)
  const step = fc.tuple(
    fc.boolean(),
    fc.constantFrom(...policies),
    fc.integer({ min: 1, max: Math.ceil(size * 1.2) + 10 }),
  )
  holds('key-table', fc.array(step, { maxLength: 100 }), (steps) => {
    for (const [adds, policy, n] of steps) {
      const key = `key:${n}`
      const slot = model.get(`${policy.name}:${key}`) ?? 0
      expect(table.find(policy.name, key)).toBe(slot)
      if (adds && slot === 0) add(policy, key)
      if (!adds && slot !== 0) {
        table.remove(policy.name, key, slot)
        rows.remove(slot)
        model.delete(`${policy.name}:${key}`)
      }
      expect(table.find(policy.name, key)).toBe(model.get(`${policy.name}:${key}`) ?? 0)
    }
  })
  for (const [id, slot] of model) {
    const [name = '', ...key] = id.split(':')
    if (table.find(name, key.join(':')) !== slot) throw new Error(`lost ${id}`)
  }
})
