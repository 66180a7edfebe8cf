import { fixedWindow, type Policy } from '@tidegate/core'
import type { RedisServer } from '@tidegate/fixtures/redis-server'
import { until } from '@tidegate/fixtures/until'
import { expect } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { clientOf } from './redis-clients.js'

/**
 * Cuts every connection of the server in the middle of a hundred checks, thirty times, and verifies
 * that none was charged twice. Each check has its own key, so that a missing charge cannot hide a second one.
 */
export async function cutUnderLoad(
  url: string,
  server: RedisServer,
  keyOf: (policy: Policy, n: number) => string,
) {
  const policy = fixedWindow({ limit: 100_000, window: '366d', name: 'once' })
  const requests = Array.from({ length: 3000 }, (_, n) => ({ policy, key: keyOf(policy, n), cost: 1 }))
  const request = requests[0]!
  const store = new RedisStore(url)
  const client = clientOf(server)
  let [allowed, failed] = [0, 0]
  try {
    for (let i = 0; i < 30; i++) {
      await until('an answer', () =>
        store.peek(request).then(
          () => true,
          () => false,
        ),
      )
      const checks = requests.slice(100 * i, 100 * i + 100).map((one) => store.check(one))
      // Before the calls are read, after their replies, or in between: then they are charged and their replies lost.
      for (let turn = 0; turn < i % 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      const killed = client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      for (const one of await Promise.allSettled(checks)) {
        if (one.status === 'rejected') failed++
        else if (one.value.allowed) allowed++
      }
      await killed
    }
    await until('an answer', () =>
      store.peek(request).then(
        () => true,
        () => false,
      ),
    )
    const charged: number[] = []
    for (const one of requests) charged.push(policy.limit - (await store.peek(one)).remaining)
    expect(failed).toBeGreaterThan(0)
    expect(Math.max(...charged)).toBe(1)
    expect(charged.filter((units) => units === 1).length).toBeGreaterThan(allowed)
  } finally {
    client.disconnect()
    await store.close()
  }
}
