import { fixedWindow } from '@tidegate/core'
import { describe, expect, it } from 'vitest'
import { RedisStore } from './redis-store.js'

const policy = fixedWindow({ limit: 5, window: '1h', name: 'hour' })
const request = { policy, key: 'k', cost: 1 }
const NOW_US = 1_800_000_000_000_000

function storeThatHears(answer: unknown): RedisStore {
  return new RedisStore({ call: async () => answer, quit: async () => 'OK' })
}

describe('what is no answer of the script is no decision', () => {
  it.each([
    ['nothing', null],
    ['text', 'OK'],
    ['an empty list', []],
    ['a number too few', [NOW_US, 11, 0]],
    ['numbers as text', [String(NOW_US), '11', '0', '0']],
    ['nothing for a number', [NOW_US, null, 0, 0]],
    ['no number', [NOW_US, Number.NaN, 0, 0]],
    ['a fraction', [NOW_US, 1.5, 0, 0]],
    ['more than the limit', [NOW_US, 12, 0, 0]],
    ['less than nothing', [NOW_US, -2, 0, 0]],
    ['a time before all time', [-1, 11, 0, 0]],
    ['a time beyond what is exact', [2 ** 60, 11, 0, 0]],
    ['a reset in the past', [NOW_US, 11, -1, 0]],
    ['a wait without end', [NOW_US, 10, 0, Number.POSITIVE_INFINITY]],
  ])('%s', async (_, answer) => {
    await expect(storeThatHears(answer).check(request)).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })

  it.each([-2, 2])('a refund of %s for a cost of 1', async (given) => {
    const refund = storeThatHears([NOW_US, given, 0, 0]).refund({ ...request, timeMs: NOW_US / 1000 })
    await expect(refund).rejects.toMatchObject({ code: 'STORE_FAILED' })
  })
})

it('a limit of whose answer nothing can be made fails by itself, and the others are decided', async () => {
  const store = storeThatHears([NOW_US, 11, 1000, 0, 12, 1000, 0, 9, 1000, 0])
  const checks = ['a', 'b', 'c'].map((key) => store.check({ ...request, key }))
  expect(await Promise.allSettled(checks)).toMatchObject([
    { status: 'fulfilled', value: { remaining: 5 } },
    { status: 'rejected', reason: { code: 'STORE_FAILED' } },
    { status: 'fulfilled', value: { remaining: 4 } },
  ])
})

it('an answer of the script is one', async () => {
  expect(await storeThatHears([NOW_US, 11, 1000, 0]).check(request)).toMatchObject({
    allowed: true,
    remaining: 5,
    resetAfterMs: 1,
  })
})
