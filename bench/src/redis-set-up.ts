import type { RedisSubject } from './redis-contenders.js'

/** Asks every key twice: each must be counted, and by itself. Connects, and warms up, too. */
export async function setUp(subject: RedisSubject, keys: readonly string[]): Promise<void> {
  for (const expected of [1, 2]) {
    for (let start = 0; start < keys.length; start += AT_ONCE) {
      await Promise.all(keys.slice(start, start + AT_ONCE).map((key) => check(key, expected)))
    }
  }

  async function check(key: string, expected: number): Promise<void> {
    const used = subject.used(await subject.check(key))
    if (used === expected) return
    throw new Error(`Set-up: "${key}" was asked ${expected} times, ${used} were counted.`)
  }
}

/** All at once would take longer than a deadline. */
const AT_ONCE = 256
