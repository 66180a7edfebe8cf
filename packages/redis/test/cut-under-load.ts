import { fixedWindow, type Policy } from '@tidegate/core'
import { expect } from 'vitest'
import { RedisStore } from '../src/redis-store.js'
import { clientOf, type RedisServer, until } from './redis-server.js'

/** Cuts every connection of the server in the middle of a hundred checks, thirty times, and compares. */
export async function cutUnderLoad(url: string, server: RedisServer, keyOf: (policy: Policy) => string) {
  const policy = fixedWindow({ limit: 100_000, window: '366d', name: 'once' })
  const request = { policy, key: keyOf(policy), cost: 1 }
  const store = new RedisStore(url)
  const client = clientOf(server)
  let [sent, allowed, failed] = [0, 0, 0]
  try {
    for (let i = 0; i < 30; i++) {
      await until('an answer', () =>
        store.peek(request).then(
          () => true,
          () => false,
        ),
      )
      const checks = Array.from({ length: 100 }, () => store.check(request))
      const killed = client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      sent += checks.length
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
    const charged = policy.limit - (await store.peek(request)).remaining
    expect(failed).toBeGreaterThan(0)
    expect(charged).toBeGreaterThanOrEqual(allowed)
    expect(charged).toBeLessThanOrEqual(sent)
  } finally {
    client.disconnect()
    await store.close()
  }
}
