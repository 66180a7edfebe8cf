import calculateSlot from 'cluster-key-slot'
import { beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_PREFIX, redisKey } from '../src/keys.js'
import { EACH } from './each-algorithm.js'
import { nameOf, useRedis } from './use-redis.js'

const on = useRedis()
beforeEach(() => on.redis.flushall())

describe('key text', () => {
  const KEYS = [
    '{a}x',
    '{a}y',
    '}{',
    '{}',
    '{{a}}',
    'a b  c',
    '🦭 seal 🦭',
    '%7Ba%7D',
    '100%',
    'user:{tenant:7}:read',
    '"quoted" \\ back',
    'x'.repeat(200),
    '🦭'.repeat(50),
    '{'.repeat(200),
  ]

  it.each(EACH)(
    '%s: keys with braces, spaces, emoji and 200 bytes work like any other',
    async (_, policy) => {
      const twice = [...KEYS, ...KEYS]
      const decisions = await Promise.all(twice.map((key) => on.check(policy, key)))
      expect(decisions.map(({ remaining }) => remaining)).toStrictEqual([
        ...KEYS.map(() => 2),
        ...KEYS.map(() => 1),
      ])
      expect((await on.namesOfAll()).sort()).toStrictEqual(KEYS.map((key) => nameOf(policy, key)).sort())
      for (const key of KEYS) await on.store.reset({ policy, key })
      expect(await on.redis.dbsize()).toBe(0)
    },
  )

  it('does not choose the slot, which is that of the whole name', () => {
    for (const key of KEYS) {
      const name = redisKey(DEFAULT_PREFIX, 'fixed', key)
      expect(name).not.toMatch(/[{}]/)
      expect([key, calculateSlot(name)]).toStrictEqual([key, wholeSlot(name)])
    }
    // Without the escapes, Redis uses one slot for all names with the same text in braces.
    expect(calculateSlot('{a}x')).toBe(calculateSlot('{a}y'))
    const slots = new Set(
      Array.from({ length: 1000 }, (_, i) => calculateSlot(redisKey(DEFAULT_PREFIX, 'p', `{a}${i}`))),
    )
    expect(slots.size).toBeGreaterThan(900)
  })

  /** CRC16 (XMODEM) of all bytes, also of those outside of braces. */
  function wholeSlot(name: string): number {
    let crc = 0
    for (const byte of Buffer.from(name)) {
      crc ^= byte << 8
      for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
    }
    return crc % 16_384
  }
})
