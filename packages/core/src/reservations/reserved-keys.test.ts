import { expect, it } from 'vitest'
import { tokenBucket } from '../policy/index.js'
import { addRecord } from './add-record.js'
import { dropLapsed, emptyRecordList, type RecordList } from './record.js'
import { ReservedKeys } from './reserved-keys.js'

const MINUTE_US = 60_000_000

it('removes keys without open reservations and remembered ids, without a timer', () => {
  const keys = new ReservedKeys(1000)
  for (let i = 0; i < 100; i++) keys.obtain('policy', `k${i}`, 0).ended.add('id', 0)
  expect(keys.size).toBe(100)
  for (let i = 0; i < 100; i++) keys.obtain('policy', 'other', MINUTE_US)
  expect(keys.size).toBeLessThanOrEqual(2)
})

it('keeps at most maxKeys keys, and drops the oldest', () => {
  const keys = new ReservedKeys(3)
  const mark = (key: string) => keys.obtain('policy', key, 0).ended.add('id', 0)
  for (const key of ['a', 'b', 'c', 'd']) mark(key)
  expect(keys.size).toBe(3)
  expect(['d', 'c', 'b'].map((key) => keys.obtain('policy', key, 0).ended.has('id', 0))).toStrictEqual([
    true,
    true,
    true,
  ])
  expect(keys.obtain('policy', 'a', 0).ended.has('id', 0)).toBe(false)
})

it('a policy name and a key have reservations of their own', () => {
  const keys = new ReservedKeys(10)
  keys.obtain('one', 'k', 0).ended.add('id', 0)
  expect(keys.obtain('two', 'k', 0).ended.has('id', 0)).toBe(false)
  keys.remove('one', 'k')
  expect(keys.obtain('one', 'k', 0).ended.has('id', 0)).toBe(false)
})

const BUCKET = tokenBucket({ capacity: 5000, refillRate: '1/1s', name: 'bucket' })

function add(list: RecordList, id: string, time: number, expiresAt: number): void {
  const state = { algorithm: 'token-bucket', level: 0, unit: BUCKET.d, time, expiresAt } as const
  const charged = { id, units: 1, reserved: 1, remaining: 0, resetAfter: 0 }
  addRecord(BUCKET, state, list, { ...charged, time, expiresAt })
}

it('looks at the open reservations of other keys only when one can have lapsed', () => {
  const keys = new ReservedKeys(1000)
  let reads = 0
  for (const key of ['a', 'b', 'c']) {
    const list = keys.obtain('policy', key, 0)
    for (let i = 0; i < 1000; i++) add(list, `r${i}`, 0, MINUTE_US + i)
    list.records = new Proxy(list.records, {
      get(records, name) {
        reads++
        return Reflect.get(records, name)
      },
    })
  }
  for (let i = 0; i < 1000; i++) keys.obtain('policy', `fresh ${i}`, i)
  expect(reads).toBeLessThan(3000)
  // One call sweeps two keys.
  for (let i = 0; i < 1000; i++) keys.obtain('policy', 'other', MINUTE_US + 999)
  expect(keys.size).toBe(1)
})

it('drops lapsed reservations, and those of a clock that was ahead', () => {
  const list = emptyRecordList()
  const idsAt = (now: number) => {
    dropLapsed(list, now)
    return list.records.map(({ id }) => id)
  }
  for (const [id, time, expiresAt] of [
    ['late', 100, 200],
    ['early', 110, 120],
    ['middle', 120, 160],
  ] as const)
    add(list, id, time, expiresAt)
  const { records } = list
  expect(idsAt(119)).toStrictEqual(['late', 'early', 'middle'])
  expect(list.records).toBe(records)
  expect(idsAt(120)).toStrictEqual(['late', 'middle'])
  expect(idsAt(80)).toStrictEqual(['late', 'middle'])
  expect(idsAt(79)).toStrictEqual(['late'])
  expect(idsAt(199)).toStrictEqual(['late'])
  expect(idsAt(200)).toStrictEqual([])
})
